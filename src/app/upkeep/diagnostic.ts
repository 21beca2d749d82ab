/** @module What can be wrong with a board, and what rules look at (K32). */
import type { Run } from "../../board/runs.ts";
import type { Task } from "../../board/task.ts";
import type { ReadSettings } from "../../dispatcher/settings.ts";
import type { ProfileWorker } from "./profile-workers.ts";

export const SEVERITIES = ["warning", "error", "critical"] as const;
export type Severity = (typeof SEVERITIES)[number];

export interface Diagnostic {
  readonly rule: string;
  readonly severity: Severity;
  /** Null: it is about the board as a whole. */
  readonly task: string | null;
  readonly text: string;
  /** What to do about it. */
  readonly todo: string;
}

export interface BoardFacts {
  readonly now: number;
  readonly board: string;
  /** Somebody dispatches on it now. */
  readonly dispatched: boolean;
  /** All that are not finished. */
  readonly tasks: readonly Task[];
  /** When each blocked task was blocked. */
  readonly blockedSince: ReadonlyMap<string, number>;
  readonly openRuns: readonly Run[];
  readonly profiles: readonly ProfileWorker[];
  /** How many tasks run: here by profile, and on all boards together. */
  readonly running: { readonly here: Readonly<Record<string, number>>; readonly everywhere: Readonly<Record<string, number>> };
  readonly settings: ReadSettings;
  /** What the database says of itself. */
  readonly faults: readonly string[];
  readonly walBytes: number;
}

export type Rule = (facts: BoardFacts) => Diagnostic[];
