/** @module One leader per board: a row with an end, which its holder must push on (K24). */
import type { Kysely, Selectable } from "kysely";
import { first, type Holes, statement } from "./database.ts";
import type { LeaderTable, Tables } from "./schema.ts";
import type { StoreContext } from "./store-context.ts";
import { checkLine, checkWhole } from "./task-input.ts";

export interface Leadership {
  readonly board: string;
  readonly holder: string;
  /** Grows with each change of the holder, so that a late one can be told from its successor. */
  readonly term: number;
  readonly expiresAt: number;
}

export interface LeaderOperations {
  /** Becomes or stays the leader until `ttlMs` from now. Null while somebody else is. */
  lead(board: string, holder: string, options: { ttlMs: number }): Promise<Leadership | null>;
  /** Lets the next one begin at once. With `ifExpiresAt` only when the holder has not renewed since it was seen with that end. */
  resign(board: string, holder: string, options?: { ifExpiresAt?: number | undefined }): Promise<void>;
  leader(board: string): Promise<Leadership | null>;
}

type LeaderRow = Selectable<LeaderTable>;

interface Named {
  board: string;
  holder: string;
}

interface LeadValues {
  board: string;
  holder: string;
  now: number;
  expires_at: number;
}

const LEAD = statement<LeadValues, LeaderRow>((build, hole) =>
  build
    .insertInto("leaders")
    .values({ board: hole("board"), holder: hole("holder"), term: 1, expires_at: hole("expires_at") })
    .onConflict((conflict) =>
      conflict
        .column("board")
        .doUpdateSet((set) => ({
          holder: set.ref("excluded.holder"),
          expires_at: set.ref("excluded.expires_at"),
          term: set
            .case()
            .when("leaders.holder", "=", set.ref("excluded.holder"))
            .then(set.ref("leaders.term"))
            .else(set("leaders.term", "+", 1))
            .end(),
        }))
        .where((where) =>
          where.or([where("leaders.holder", "=", where.ref("excluded.holder")), where("leaders.expires_at", "<=", hole("now"))]),
        ),
    )
    .returningAll(),
);

const RESIGN = statement<Named>(resignation);
const RESIGN_UNCHANGED = statement<Named & { seen: number }>((build, hole) =>
  resignation(build, hole).where("expires_at", "=", hole("seen")),
);

export const LEADER = statement<{ board: string }, LeaderRow>((build, hole) =>
  build.selectFrom("leaders").selectAll().where("board", "=", hole("board")),
);

export function leaderOperations({ database, clock }: StoreContext): LeaderOperations {
  return {
    lead: (board, holder, { ttlMs }) =>
      database.write(async (session) => {
        const now = clock.now();
        const values = { board, holder: checkLine("holder", holder), now, expires_at: now + checkWhole("ttlMs", ttlMs) };
        return toLeadership(await first(session.all(LEAD, values)));
      }),
    async resign(board, holder, { ifExpiresAt: seen } = {}) {
      const named = { board, holder };
      await database.write((session) =>
        seen === undefined ? session.run(RESIGN, named) : session.run(RESIGN_UNCHANGED, { ...named, seen }),
      );
    },
    leader: (board) => database.read(async (session) => toLeadership(await first(session.all(LEADER, { board })))),
  };
}

function resignation(build: Kysely<Tables>, hole: Holes<Named>) {
  return build.updateTable("leaders").set({ expires_at: 0 }).where("board", "=", hole("board")).where("holder", "=", hole("holder"));
}

function toLeadership(row: LeaderRow | undefined): Leadership | null {
  if (row === undefined) return null;
  const { expires_at: expiresAt, ...rest } = row;
  return { ...rest, expiresAt };
}
