/** @module What is wrong with the run of a task that counts as running, as far as the board knows: its worker is dead, or may not be (K12). */
import { firstLine } from "../base/first-line.ts";
import { exitOf, type WorkerExit } from "../board/exit.ts";
import type { Run } from "../board/runs.ts";

export type RunTrouble =
  /** Only a dispatcher says what becomes of the task. */
  | { readonly kind: "worker-ended"; readonly run: number; readonly exit: WorkerExit }
  /** It was revoked, and the task is not free before its worker is known to be dead (K18). */
  | { readonly kind: "being-ended"; readonly run: number; readonly since: number; readonly exit: WorkerExit | null };

export function troubleOf(run: Run): RunTrouble | null {
  const exit = exitOf(run);
  if (run.revokedAt !== null) return { kind: "being-ended", run: run.id, since: run.revokedAt, exit };
  return exit === null ? null : { kind: "worker-ended", run: run.id, exit };
}

export function troubleInWords(trouble: RunTrouble, task: string): [text: string, fix: string | null] {
  const ended = trouble.exit === null ? "" : `its worker has ended (${exitInWords(trouble.exit)})`;
  if (trouble.kind === "worker-ended") return [`${ended}, and a dispatcher has to judge it`, null];
  const since = `run ${trouble.run} was revoked at ${new Date(trouble.since).toISOString()}`;
  const dead =
    ended === "" ? "it is not known yet that its worker is dead" : `${ended}, but it is not known yet that nothing of it is left`;
  return [`${since}, and ${dead}; until then it stays running`, `if that lasts: holdfast kanban reclaim ${task} says what is in the way`];
}

export function exitInWords({ reason, code, signal, error }: WorkerExit): string {
  const why = error === undefined || error === "" ? "" : `: ${firstLine(error)}`;
  switch (reason) {
    case "exited":
      if (code === null && signal === null) return `it is not known how${why}`;
      return (code === null ? `by ${signal}` : `exit status ${code}`) + why;
    case "timed_out":
      return `it ran longer than it may${why}`;
    case "start_failed":
      return `it could not be started${why}`;
    case "claim_lost":
      return `its claim was lost${why}`;
    case "stopped":
      return `its supervisor was told to stop${why}`;
  }
}
