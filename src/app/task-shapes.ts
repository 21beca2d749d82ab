/** @module Shapes of what the board gives out. Times are milliseconds since the epoch. */
import * as z from "zod/mini";
import { BLOCK_KINDS, OUTCOMES } from "../board/schema.ts";
import { PHASES, STATUSES, type Status } from "../board/transitions.ts";
import type { Why } from "../dispatcher/why.ts";

const Time = z.int();
const Texts = z.readonly(z.array(z.string()));
const Data = z.record(z.string(), z.unknown());

export const StatusShape = z.enum(STATUSES);
/** In the order in which a board is read. */
export const STATUS_ORDER: readonly Status[] = STATUSES;

/** In a worker, left out means its own task. */
export const IdInput = z.optional(z.string());
export const BoardInput = z.optional(z.string());

export const TaskShape = z.object({
  id: z.string(),
  board: z.string(),
  seq: z.int(),
  title: z.string(),
  body: z.string(),
  status: StatusShape,
  phase: z.enum(PHASES),
  assignee: z.nullable(z.string()),
  implementer: z.nullable(z.string()),
  priority: z.int(),
  tenant: z.nullable(z.string()),
  workspace: z.string(),
  branch: z.nullable(z.string()),
  idempotencyKey: z.nullable(z.string()),
  maxRuntimeMs: z.nullable(z.int()),
  maxRetries: z.nullable(z.int()),
  skills: z.nullable(Texts),
  model: z.nullable(z.string()),
  deadline: z.nullable(Time),
  overdueAt: z.nullable(Time),
  repeat: z.nullable(z.string()),
  timeZone: z.nullable(z.string()),
  series: z.nullable(z.string()),
  successor: z.nullable(z.string()),
  decomposedAt: z.nullable(Time),
  fromSandbox: z.boolean(),
  createdBy: z.string(),
  createdAt: Time,
  startedAt: z.nullable(Time),
  completedAt: z.nullable(Time),
  scheduledFor: z.nullable(Time),
  blocked: z.nullable(z.object({ kind: z.nullable(z.enum(BLOCK_KINDS)), reason: z.nullable(z.string()), by: z.string() })),
  guard: z.nullable(z.object({ reason: z.string(), until: Time })),
  failures: z.int(),
  violations: z.int(),
  lastError: z.nullable(z.string()),
});

/** A task as others refer to it. */
export const TaskNameShape = z.object({ id: z.string(), title: z.string(), status: StatusShape });

export const RunShape = z.object({
  id: z.int(),
  task: z.string(),
  profile: z.string(),
  phase: z.enum(PHASES),
  claimedBy: z.string(),
  worker: z.nullable(Data),
  startedAt: Time,
  expiresAt: z.nullable(Time),
  heartbeatAt: z.nullable(Time),
  revokedAt: z.nullable(Time),
  endedAt: z.nullable(Time),
  outcome: z.nullable(z.enum(OUTCOMES)),
  summary: z.nullable(z.string()),
  metadata: z.nullable(Data),
  error: z.nullable(z.string()),
  cost: z.nullable(z.number()),
  tokens: z.nullable(z.int()),
});

export const CommentShape = z.object({
  id: z.int(),
  task: z.string(),
  run: z.nullable(z.int()),
  author: z.string(),
  body: z.string(),
  createdAt: Time,
});

export const AttachmentShape = z.object({
  id: z.int(),
  task: z.string(),
  run: z.nullable(z.int()),
  name: z.string(),
  path: z.string(),
  contentType: z.string(),
  size: z.int(),
  addedBy: z.string(),
  createdAt: Time,
});

export const EventShape = z.object({
  id: z.int(),
  board: z.string(),
  task: z.nullable(z.string()),
  run: z.nullable(z.int()),
  kind: z.string(),
  actor: z.string(),
  payload: Data,
  at: Time,
});

export const UsageShape = z.object({ runs: z.int(), cost: z.number(), tokens: z.number() });

/** Besides these, each kind has its own data. */
export const WhyShape = z.looseObject({ kind: z.string(), text: z.string(), fix: z.nullable(z.string()) }) as unknown as z.ZodMiniType<Why>;
