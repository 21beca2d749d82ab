/** @module Why a sandbox is kept, and when it goes: the rules of teardown (S21 to S29) in words. */
import type { SandboxRef } from "../sandbox/driver.ts";
import { orphanAgeMs } from "../sandbox/drivers/docker/reap-orphans.ts";
import type { SandboxSummary } from "./results.ts";

/** What the rules depend on. */
export interface KeepingRules {
  readonly lifetime_seconds: number;
  readonly idle_stop_seconds: number;
  readonly docker_orphan_reaper: boolean;
  readonly container_persistent: boolean;
}

export interface KeepingOptions {
  readonly rules: KeepingRules;
  /** The sandbox has files of its own, which can be removed with it or kept. */
  readonly isolatesFiles: boolean;
  readonly now: number;
}

type Kept = Pick<SandboxSummary, "state" | "persists" | "stoppedAt" | "createdAt">;

/** In few words, for a list. */
export function whyKept({ state, persists, stoppedAt }: Kept, { rules, isolatesFiles }: Omit<KeepingOptions, "now">): string {
  if (state === "running") return persists ? "persists" : "until its process ends";
  const reaped = isolatesFiles && rules.docker_orphan_reaper && stoppedAt !== null;
  return reaped ? `stopped; may go from ${reapTime(stoppedAt, rules)} on` : "stopped; until it is removed";
}

/** One sentence for each thing that ends it, in the order in which they may come. */
export function whenItGoes(kept: Kept, { rules, isolatesFiles, now }: KeepingOptions): string[] {
  const sentences: string[] = [];
  if (kept.state === "running") {
    sentences.push(
      rules.idle_stop_seconds > 0
        ? `it stops by itself when nothing has used it for ${rules.idle_stop_seconds} s (terminal.idle_stop_seconds); its files stay`
        : "it does not stop by itself (terminal.idle_stop_seconds is 0)",
    );
    if (!kept.persists)
      sentences.push(
        `it is removed when the process that made it ends, or has not used it for ${rules.lifetime_seconds} s (it was made not to persist)`,
      );
  }
  if (isolatesFiles) sentences.push(reaping(kept, rules, now));
  sentences.push("`holdfast sandbox rm` removes it");
  return sentences;
}

function reaping({ state, stoppedAt }: Kept, rules: KeepingRules, now: number): string {
  const age = orphanAgeMs(rules) / 1000;
  if (!rules.docker_orphan_reaper) return "the orphan reaper is off (terminal.docker_orphan_reaper), so it stays when it is stopped";
  const rule = `when a new sandbox of the profile is made, one that ended more than ${age} s ago goes (terminal.docker_orphan_reaper)`;
  if (state === "running") return `${rule}; this one runs`;
  if (stoppedAt === null) return `${rule}; when this one ended is not known, so it stays`;
  return Date.parse(stoppedAt) + age * 1000 < now
    ? `${rule}: this one may go any time`
    : `${rule}: this one from ${reapTime(stoppedAt, rules)} on`;
}

/** What of it stays when it goes without `rm`. */
export function whatStays({ kept, isolatesFiles }: { kept: boolean; isolatesFiles: boolean }): string {
  if (!isolatesFiles) return "commands work on the host's own files, which stay whatever becomes of the sandbox";
  return kept
    ? "the files in its home and workspace are on the host and stay for the next one of the task, unless `holdfast sandbox rm --files` removes them"
    : "nothing: its files go with it";
}

/** Whether `prune` takes it: as the orphan reaper would, but also what never ran. */
export function isPrunable({ state, createdAt, stoppedAt }: SandboxRef, { rules, now }: Pick<KeepingOptions, "rules" | "now">): boolean {
  return state === "stopped" && (stoppedAt ?? createdAt) + orphanAgeMs(rules) < now;
}

function reapTime(stoppedAt: string, rules: KeepingRules): string {
  return new Date(Date.parse(stoppedAt) + orphanAgeMs(rules)).toISOString();
}
