/** @module The rules of the board: every legal move of a task from status to status, in one table (K7). */

export const STATUSES = ["triage", "todo", "scheduled", "ready", "running", "blocked", "review", "done", "archived"] as const;
export type Status = (typeof STATUSES)[number];

/** What a task is in for when it is taken next: to be worked on, or to be reviewed. */
export const PHASES = ["work", "review"] as const;
export type Phase = (typeof PHASES)[number];

/**
 * A person is whoever acts in their own name, also an orchestrator. A worker acts with the token of its run. The dispatcher takes tasks and
 * takes them back. The board moves a task because something else has changed.
 */
export type Mover = "person" | "worker" | "dispatcher" | "board";

/** Parents are finished when they are done or archived. */
export const FINISHED = ["done", "archived"] as const satisfies readonly Status[];

export const UNFINISHED: readonly Status[] = STATUSES.filter((status) => !isFinished(status));

export function isFinished(status: Status | undefined): boolean {
  return (FINISHED as readonly (Status | undefined)[]).includes(status);
}

export interface Move {
  readonly action: string;
  readonly from: readonly (Status | "new")[];
  /** `landing`: `todo` while a parent is unfinished, else `review` or `ready` by the task's phase. */
  readonly to: Status | "landing";
  readonly by: readonly Mover[];
  /** What must hold besides. */
  readonly needs?: "finished parents" | "an unfinished parent" | "a review";
  /** The phase that the task is in from then on. */
  readonly phase?: Phase;
  readonly meaning: string;
}

/** While a task is running, only its own run and the dispatcher can move it: nobody frees a task under a live worker. */
export const MOVES = [
  { action: "create", from: ["new"], to: "landing", by: ["person", "worker"], meaning: "a new task" },
  { action: "create in triage", from: ["new"], to: "triage", by: ["person", "worker"], meaning: "a rough idea, which nobody works on yet" },
  { action: "create blocked", from: ["new"], to: "blocked", by: ["person", "worker"], meaning: "a task that waits for somebody" },
  { action: "create scheduled", from: ["new"], to: "scheduled", by: ["person", "worker"], meaning: "a task for later" },
  { action: "repeat", from: ["new"], to: "scheduled", by: ["board"], meaning: "a task that repeats is done, and this is the next one" },
  { action: "accept", from: ["triage"], to: "landing", by: ["person"], meaning: "the idea is a task" },
  { action: "specify", from: ["triage"], to: "landing", by: ["person"], meaning: "the idea was written down as a task" },
  { action: "decompose", from: ["triage"], to: "landing", by: ["person"], meaning: "the idea became tasks that come before it" },
  {
    action: "promote",
    from: ["todo"],
    to: "landing",
    by: ["board", "person"],
    needs: "finished parents",
    meaning: "the last parent is finished",
  },
  {
    action: "hold",
    from: ["ready", "review"],
    to: "todo",
    by: ["board"],
    needs: "an unfinished parent",
    meaning: "it got a parent that is unfinished",
  },
  {
    action: "claim",
    from: ["ready", "review"],
    to: "running",
    by: ["dispatcher", "person"],
    needs: "finished parents",
    meaning: "a run begins",
  },
  { action: "complete", from: ["running"], to: "done", by: ["worker"], needs: "finished parents", meaning: "the run has done it" },
  {
    action: "complete",
    from: ["triage", "todo", "scheduled", "ready", "blocked", "review"],
    to: "done",
    by: ["person"],
    needs: "finished parents",
    meaning: "somebody has done it without a run",
  },
  { action: "block", from: ["running"], to: "blocked", by: ["worker"], meaning: "the run cannot go on without help" },
  {
    action: "block",
    from: ["triage", "todo", "scheduled", "ready", "review"],
    to: "blocked",
    by: ["person"],
    meaning: "nobody shall take it",
  },
  {
    action: "wait",
    from: ["running"],
    to: "todo",
    by: ["worker"],
    needs: "an unfinished parent",
    meaning: "the run found that another task comes first",
  },
  {
    action: "request review",
    from: ["running"],
    to: "review",
    by: ["worker"],
    needs: "finished parents",
    phase: "review",
    meaning: "the run asks for a review",
  },
  {
    action: "request review",
    from: ["ready", "blocked"],
    to: "review",
    by: ["person"],
    needs: "finished parents",
    phase: "review",
    meaning: "somebody asks for a review",
  },
  {
    action: "request changes",
    from: ["running"],
    to: "landing",
    by: ["worker"],
    needs: "a review",
    phase: "work",
    meaning: "the reviewing run is not content",
  },
  { action: "request changes", from: ["review"], to: "landing", by: ["person"], phase: "work", meaning: "somebody is not content" },
  { action: "unblock", from: ["blocked", "scheduled"], to: "landing", by: ["person"], meaning: "it can go on" },
  {
    action: "schedule",
    from: ["triage", "todo", "scheduled", "ready", "blocked", "review"],
    to: "scheduled",
    by: ["person"],
    meaning: "not before a time",
  },
  { action: "wake", from: ["scheduled"], to: "landing", by: ["board"], meaning: "its time has come" },
  {
    action: "expire",
    from: ["todo", "scheduled", "ready", "review"],
    to: "blocked",
    by: ["board"],
    meaning: "its deadline has passed",
  },
  { action: "release", from: ["running"], to: "landing", by: ["dispatcher"], meaning: "the run ended without a word, or was ended" },
  {
    action: "give up",
    from: ["running"],
    to: "blocked",
    by: ["dispatcher"],
    meaning: "runs failed too often, one after the other, or somebody took it back for good",
  },
  {
    action: "archive",
    from: ["triage", "todo", "scheduled", "ready", "blocked", "review", "done"],
    to: "archived",
    by: ["person"],
    meaning: "out of sight",
  },
  {
    action: "reopen",
    from: ["done", "archived"],
    to: "landing",
    by: ["person"],
    phase: "work",
    meaning: "it was not finished after all",
  },
] as const satisfies readonly Move[];

export type Action = (typeof MOVES)[number]["action"];

export interface MoveFacts {
  readonly by: Mover;
  readonly parentsDone: boolean;
  readonly phase: Phase;
}

/** Where a move leads, or in words why it cannot be made. */
export type Verdict = { readonly to: Status; readonly phase: Phase } | { readonly refused: string };

export function nextStatus(from: Status | "new", action: Action, { by, parentsDone, phase }: MoveFacts): Verdict {
  const moves: readonly Move[] = MOVES.filter((move) => move.action === action);
  const possible = moves.filter((move) => move.from.includes(from));
  const move = possible.find((each) => each.by.includes(by));
  if (move === undefined) return { refused: refusalOf(from, { action, possible, moves }) };
  if (move.needs === "finished parents" && !parentsDone) return { refused: "it has an unfinished parent" };
  if (move.needs === "an unfinished parent" && parentsDone) return { refused: "it has no unfinished parent" };
  if (move.needs === "a review" && phase !== "review") return { refused: "this run is not a review" };
  const next = move.phase ?? phase;
  return { to: move.to === "landing" ? landing(parentsDone, next) : move.to, phase: next };
}

/** Where a task goes that is free again. */
export function landing(parentsDone: boolean, phase: Phase): Status {
  if (!parentsDone) return "todo";
  return phase === "review" ? "review" : "ready";
}

interface Refusal {
  readonly action: Action;
  readonly possible: readonly Move[];
  readonly moves: readonly Move[];
}

function refusalOf(from: Status | "new", { action, possible, moves }: Refusal): string {
  if (possible.length > 0) return `it is ${from}, where only ${listed(possible.flatMap((move) => move.by))} can do that`;
  if (from === "running") return "it is running, and only its run or the dispatcher can move it";
  return `it is ${from}, and ${action} is for tasks that are ${listed(moves.flatMap((move) => move.from))}`;
}

const SHOWN: Readonly<Record<string, string>> = { person: "a person", worker: "its run", dispatcher: "the dispatcher", board: "the board" };

function listed(words: readonly string[]): string {
  const shown = [...new Set(words)].map((word) => SHOWN[word] ?? word);
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} or ${shown.at(-1)}`;
}
