/** @module A board that comes from elsewhere, checked by the rules for all other input: it may have been written by anybody. */
import { checkInput, type InputType, MAP, NUMBER } from "../base/check-input.ts";
import { HoldfastError } from "../base/errors.ts";
import type { BoardEvent, EventKind } from "./events.ts";
import { EXPORT_VERSION, type ExportedBoard } from "./export-board.ts";
import { orderOf } from "./order.ts";
import { checkCron } from "./repeat.ts";
import { handoverColumns, type Run, type RunRow } from "./runs.ts";
import { BLOCK_KINDS, LARGEST_ATTACHMENT, OUTCOMES } from "./schema.ts";
import { FRESH, type Task, type TaskRow } from "./task.ts";
import { checkAssignee, checkCount, checkLine, checkText, checkWhole, newColumns, toJson } from "./task-input.ts";
import { PHASES, STATUSES } from "./transitions.ts";

const ID = /^t_[0-9a-f]{8}$/;
const KIND = /^[a-z_]{1,60}$/;
const LIST: InputType = { expected: "a list", fits: (value) => Array.isArray(value) };
const LISTS = ["tasks", "links", "comments", "attachments", "runs", "events"] as const;

/** @throws `invalid-input`, `invalid-name`, `link-refused` */
export async function checkImport(data: ExportedBoard, now: number): Promise<void> {
  checkInput("data", data, MAP);
  if (data.version !== EXPORT_VERSION) {
    throw new HoldfastError("invalid-input", `data has version ${JSON.stringify(data.version)}, and ${EXPORT_VERSION} is known`, {
      facts: { field: "version" },
    });
  }
  checkInput("board", data.board, MAP);
  for (const list of LISTS) {
    checkInput(list, data[list], LIST);
    for (const [index, entry] of data[list].entries()) checkInput(`${list}[${index}]`, entry, MAP);
  }
  for (const { id } of data.tasks)
    if (!ID.test(checkLine("id", id))) throw wrong("id", `${JSON.stringify(id.slice(0, 80))} is not the id of a task`);
  const ids = data.tasks.map(({ id }) => id);
  checkUnique("id", ids);
  checkUnique(
    "idempotencyKey",
    data.tasks.flatMap(({ idempotencyKey }) => idempotencyKey ?? []),
  );
  for (const { repeat } of data.tasks) await checkCron(repeat, now);
  checkLinks(ids, data.links);
  for (const list of ["runs", "comments", "attachments"] as const) {
    for (const { id } of data[list]) checkWhole("id", id);
    checkUnique(
      `${list}.id`,
      data[list].map(({ id }) => id),
    );
  }
}

/** Everything but what depends on others of its board. */
export function taskColumns(task: Task): Omit<TaskRow, "seq" | "id" | "board" | "series" | "successor"> {
  const { blocked, guard } = task;
  if ((task.status === "scheduled") !== (task.scheduledFor !== null))
    throw wrong("scheduledFor", `${task.id} is ${task.status}, which does not fit its time`);
  if (blocked !== null) checkInput("blocked", blocked, MAP);
  if (guard !== null) checkInput("guard", guard, MAP);
  const status = checkWord("status", task.status, STATUSES);
  return {
    ...FRESH,
    ...newColumns(task),
    status,
    phase: status === "review" ? "review" : checkWord("phase", task.phase, PHASES),
    assignee: checkAssignee(task.assignee),
    implementer: checkAssignee(task.implementer),
    idempotency_key: optional(task.idempotencyKey, (value) => checkLine("idempotencyKey", value)),
    started_at: time("startedAt", task.startedAt),
    completed_at: time("completedAt", task.completedAt),
    scheduled_for: time("scheduledFor", task.scheduledFor),
    block_kind: optional(blocked?.kind, (value) => checkWord("blocked.kind", value, BLOCK_KINDS)),
    block_reason: optional(blocked?.reason, (value) => checkText("blocked.reason", value)),
    blocked_by: optional(blocked, ({ by }) => checkLine("blocked.by", by)),
    guard_reason: optional(guard, ({ reason }) => checkLine("guard.reason", reason)),
    guard_until: optional(guard, ({ until }) => checkWhole("guard.until", until)),
    failures: checkCount("failures", task.failures),
    violations: checkCount("violations", task.violations),
    last_error: optional(task.lastError, (value) => checkText("lastError", value)),
    overdue_at: time("overdueAt", task.overdueAt),
    decomposed_at: time("decomposedAt", task.decomposedAt),
    // An archive of before it was known says nothing.
    from_sandbox: (task.fromSandbox as boolean | undefined) === true ? 1 : 0,
    created_by: checkLine("createdBy", task.createdBy),
    created_at: checkWhole("createdAt", task.createdAt),
  };
}

/** What its worker was is of no use elsewhere. A run that is open has nobody who works on it here. */
export function runColumns(run: Run, now: number): Omit<RunRow, "id" | "task"> {
  const { summary, metadata, error, cost, tokens } = run;
  const open = run.endedAt === null;
  if (open !== (run.outcome === null)) throw wrong("outcome", `run ${run.id} has an end or an outcome, and not both`);
  if (metadata !== null) checkInput("metadata", metadata, MAP);
  const handover = handoverColumns({
    ...(present(summary) && { summary }),
    ...(present(metadata) && { metadata }),
    ...(present(error) ? { error } : open && { error: "its board was imported while it was open" }),
    ...(present(cost) && { cost }),
    ...(present(tokens) && { tokens }),
  });
  if (cost !== null) checkInput("cost", cost, NUMBER);
  return {
    ...handover,
    profile: checkLine("profile", run.profile),
    phase: checkWord("phase", run.phase, PHASES),
    token_hash: null,
    claimed_by: checkLine("claimedBy", run.claimedBy),
    worker: null,
    started_at: checkWhole("startedAt", run.startedAt),
    expires_at: time("expiresAt", run.expiresAt),
    heartbeat_at: time("heartbeatAt", run.heartbeatAt),
    revoked_at: time("revokedAt", run.revokedAt),
    ended_at: open ? now : time("endedAt", run.endedAt),
    outcome: run.outcome === null ? "reclaimed" : checkWord("outcome", run.outcome, OUTCOMES),
  };
}

export function checkEvent({ kind, actor, payload, at }: BoardEvent): { kind: EventKind; actor: string; at: number } {
  if (!KIND.test(checkLine("kind", kind))) throw wrong("kind", `${JSON.stringify(kind.slice(0, 80))} is not a kind of event`);
  checkInput("payload", payload, MAP);
  toJson("payload", payload);
  return { kind, actor: checkLine("actor", actor), at: checkWhole("at", at) };
}

export function checkSize(size: number): number {
  if (checkWhole("size", size) <= LARGEST_ATTACHMENT) return size;
  throw new HoldfastError("too-large", `an attachment has ${size} bytes, and ${LARGEST_ATTACHMENT} are the most`, { facts: { size } });
}

/** The new one of an old one that is mentioned, which must be there. */
export function mapped<Key, Value>(field: string, key: Key, map: ReadonlyMap<Key, Value>): Value {
  const found = map.get(key);
  if (found === undefined) throw wrong(field, `${field} names ${JSON.stringify(key)?.slice(0, 80)}, which is not on this board`);
  return found;
}

function checkLinks(ids: readonly string[], links: ExportedBoard["links"]): void {
  const places = new Map(ids.map((id, index) => [id, index]));
  const after: Set<number>[] = ids.map(() => new Set());
  for (const { parent, child } of links) {
    const above = mapped("link", parent, places);
    const below = after[mapped("link", child, places)] as Set<number>;
    if (below.has(above)) throw wrong("link", `the link from ${parent} to ${child} is there twice`);
    below.add(above);
  }
  const found = orderOf(after.map((each) => [...each]));
  if ("order" in found) return;
  const task = ids[found.cycle] ?? "";
  throw new HoldfastError("link-refused", `${task} would wait for itself`, { facts: { task } });
}

function checkUnique(field: string, values: readonly unknown[]): void {
  if (new Set(values).size === values.length) return;
  throw wrong(field, `${field} is not unique`);
}

function checkWord<Word extends string>(field: string, value: string, words: readonly Word[]): Word {
  const found = words.find((word) => word === value);
  if (found !== undefined) return found;
  throw wrong(field, `${field} must be one of ${words.join(", ")}`);
}

function time(field: string, value: number | null): number | null {
  return optional(value, (at) => checkWhole(field, at));
}

function optional<In, Out>(value: In | null | undefined, check: (value: In) => Out): Out | null {
  return value === null || value === undefined ? null : check(value);
}

function present<Value>(value: Value | null | undefined): value is Value {
  return value !== null && value !== undefined;
}

function wrong(field: string, message: string): HoldfastError {
  return new HoldfastError("invalid-input", message, { facts: { field } });
}
