/** @module Shapes that several operations take or give. */
import * as z from "zod/mini";
import { DEFAULT_TASK } from "../base/names.ts";
import type { SandboxRef } from "../sandbox/driver.ts";
import type { SandboxSummary } from "./results.ts";

export const TaskInput = z._default(z.string(), DEFAULT_TASK);

export const SandboxSummaryShape = z.object({
  id: z.string(),
  backend: z.string(),
  profile: z.string(),
  task: z.string(),
  state: z.enum(["running", "stopped"]),
  /** ISO 8601. */
  createdAt: z.string(),
  /** ISO 8601. Null while it runs, and where the backend does not know. */
  stoppedAt: z.nullable(z.string()),
  /** False: it goes with the process that made it. */
  persists: z.boolean(),
});

export function summarize({ driver, id, owner, state, createdAt, stoppedAt, persist = true }: SandboxRef): SandboxSummary {
  return {
    id,
    backend: driver,
    profile: owner.profile,
    task: owner.task,
    state,
    createdAt: new Date(createdAt).toISOString(),
    stoppedAt: stoppedAt === undefined ? null : new Date(stoppedAt).toISOString(),
    persists: persist,
  };
}

export const SessionSummaryShape = z.object({
  name: z.string(),
  cwd: z.string(),
  /** ISO 8601. */
  lastUsedAt: z.string(),
});

/** Something that did not come along. */
export const LeftOutShape = z.object({ path: z.string(), reason: z.string() });
