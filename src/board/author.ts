/** @module In whose name something is written: a person's own, or that of a run, which must prove it with its token (K17). */
import { HoldfastError } from "../base/errors.ts";
import { first, type Session, statement } from "./database.ts";
import { isIsolated } from "./isolated.ts";
import { claimLost } from "./no-claim.ts";
import { fromJson } from "./runs.ts";
import { checkLine } from "./task-input.ts";
import { hashToken } from "./token.ts";

/** A run is named by its task. */
export type Author =
  | { readonly by: string; readonly task?: never; readonly token?: never }
  | { readonly by?: never; readonly task: string; readonly token: string };

export interface KnownAuthor {
  readonly name: string;
  readonly run: number | null;
  /** The only board that a run sees (K5); null for a person. */
  readonly board: string | null;
  /** It speaks from a sandbox with files of its own. */
  readonly isolated: boolean;
}

const OPEN_RUN = statement<{ task: string; token: string }, { id: number; profile: string; board: string; worker: string | null }>(
  (build, hole) =>
    build
      .selectFrom("runs")
      .innerJoin("tasks", "tasks.id", "runs.task")
      .select(["runs.id", "runs.profile", "runs.worker", "tasks.board"])
      .where("runs.task", "=", hole("task"))
      .where("ended_at", "is", null)
      .where("revoked_at", "is", null)
      .where("token_hash", "=", hole("token")),
);

/** @throws `claim-lost` */
export async function authorOf(session: Session, author: Author): Promise<KnownAuthor> {
  if (author.by !== undefined) return { name: checkLine("by", author.by), run: null, board: null, isolated: false };
  const run = await first(session.all(OPEN_RUN, { task: author.task, token: hashToken(author.token) }));
  if (run === undefined) throw await claimLost(session, author);
  return { name: run.profile, run: run.id, board: run.board, isolated: isIsolated(fromJson(run.worker)) };
}

/** @throws `move-refused` for a run that reaches beyond its board */
export function checkReach(author: KnownAuthor, board: string): void {
  if (author.board === null || author.board === board) return;
  throw new HoldfastError("move-refused", `a run on the board ${author.board} cannot write on the board ${board}`, {
    facts: { run: author.run, board },
  });
}
