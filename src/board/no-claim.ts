/** @module Why a run has no claim any more, and why nobody else gets one. Looked up only then, so that those who have one need not wait for it. */
import { HoldfastError } from "../base/errors.ts";
import { first, type Session, statement } from "./database.ts";
import { RELEASES } from "./failures.ts";
import { refusal } from "./refusal.ts";
import type { RunRow } from "./runs.ts";
import type { Outcome } from "./schema.ts";
import type { TaskRow } from "./task.ts";
import { hashToken } from "./token.ts";

const RUN_OF_TOKEN = statement<{ task: string; token: string }, Pick<RunRow, "id" | "outcome" | "ended_at">>((build, hole) =>
  build.selectFrom("runs").select(["id", "outcome", "ended_at"]).where("task", "=", hole("task")).where("token_hash", "=", hole("token")),
);

const HOLDER = statement<{ run: number }, Pick<RunRow, "profile" | "expires_at" | "revoked_at">>((build, hole) =>
  build.selectFrom("runs").select(["profile", "expires_at", "revoked_at"]).where("id", "=", hole("run")),
);

/** For a token that is not, or no longer, that of the task's open run. */
export async function claimLost(session: Session, { task, token }: { task: string; token: string }): Promise<HoldfastError> {
  const run = await first(session.all(RUN_OF_TOKEN, { task, token: hashToken(token) }));
  if (run === undefined) return new HoldfastError("claim-lost", `the token is not that of the current run of ${task}`, { facts: { task } });
  const { id, outcome } = run;
  if (outcome === null) return new HoldfastError("claim-lost", `run ${id} of ${task} was revoked`, { facts: { task, run: id } });
  return new HoldfastError("claim-lost", `run ${id} of ${task} has ended (${outcome})`, {
    // What ended in any other way was taken from it, and may be somebody else's now.
    ...(isOwnWord(outcome) && {
      hint: `nothing more can be written in its name; \`holdfast kanban show ${task}\` says how the task is now`,
    }),
    facts: { task, run: id, outcome },
  });
}

/** For a task that somebody has. */
export async function alreadyTaken(
  session: Session,
  task: Pick<TaskRow, "id" | "status">,
  { run, at }: { run: number; at: number },
): Promise<HoldfastError> {
  const {
    profile = "somebody",
    expires_at: expires = null,
    revoked_at: revoked = null,
  } = (await first(session.all(HOLDER, { run }))) ?? {};
  const hint = `\`holdfast kanban reclaim ${task.id}\` takes it from whoever works on it`;
  if (revoked !== null)
    return refusal(task, "claim", { reason: `it was taken from ${profile} (run ${run}), whose worker has yet to end`, hint });
  const until = expires === null ? "" : `, ${expires > at ? "until" : "and its claim ran out at"} ${new Date(expires).toISOString()}`;
  return refusal(task, "claim", { reason: `${profile} has it (run ${run})${until}`, hint });
}

function isOwnWord(outcome: Outcome): boolean {
  return !(RELEASES as readonly Outcome[]).includes(outcome);
}
