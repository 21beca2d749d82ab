/** @module One leader per board: a row with an end, which its holder must push on (K24). */
import type { Selectable } from "kysely";
import { first, statement } from "./database.ts";
import type { LeaderTable } from "./schema.ts";
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
  /** Lets the next one begin at once. */
  resign(board: string, holder: string): Promise<void>;
  leader(board: string): Promise<Leadership | null>;
}

type LeaderRow = Selectable<LeaderTable>;

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

const RESIGN = statement<{ board: string; holder: string }>((build, hole) =>
  build.updateTable("leaders").set({ expires_at: 0 }).where("board", "=", hole("board")).where("holder", "=", hole("holder")),
);

const LEADER = statement<{ board: string }, LeaderRow>((build, hole) =>
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
    async resign(board, holder) {
      await database.write((session) => session.run(RESIGN, { board, holder }));
    },
    leader: (board) => database.read(async (session) => toLeadership(await first(session.all(LEADER, { board })))),
  };
}

function toLeadership(row: LeaderRow | undefined): Leadership | null {
  if (row === undefined) return null;
  const { expires_at: expiresAt, ...rest } = row;
  return { ...rest, expiresAt };
}
