/** @module What a step of the pass knows of an open run, and what it may say about it. */
import type { Release } from "../board/failures.ts";
import type { OpenRun } from "../board/waiting.ts";
import type { DispatchSettings } from "./settings.ts";
import type { Timeline } from "./timeline.ts";

export interface RunFacts {
  readonly time: Timeline;
  readonly settings: DispatchSettings;
  readonly seen: "alive" | "gone" | "elsewhere";
  /** Of the profile's workers; the task's own comes first. */
  readonly maxRuntimeMs: number | null;
  /** How a revoked run was to be released, if a dispatcher said so. */
  readonly revokedFor: Release | null;
}

/** The run must be ended. */
export interface Verdict {
  /** Null: as the exit of its worker says. */
  readonly outcome: Release | null;
  readonly error?: string | undefined;
  /** Only if its claim has still ended by then. */
  readonly ifExpiredAt?: number | undefined;
  /** Something that should not have happened is put right. */
  readonly reconciled?: boolean;
}

export type Step = (run: OpenRun, facts: RunFacts) => Verdict | null;
