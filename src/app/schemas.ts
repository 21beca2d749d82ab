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
});

export function summarize(ref: SandboxRef): SandboxSummary {
  const { driver, id, owner, state, createdAt } = ref;
  return { id, backend: driver, profile: owner.profile, task: owner.task, state, createdAt: new Date(createdAt).toISOString() };
}

export const SessionSummaryShape = z.object({
  name: z.string(),
  cwd: z.string(),
  /** ISO 8601. */
  lastUsedAt: z.string(),
});
