/** @module Runs: one row for each attempt at a task, with what came of it. */
import type { Kysely, Selectable } from "kysely";
import { HoldfastError } from "../base/errors.ts";
import { withoutPassword } from "../base/without-password.ts";
import { type Holes, type Session, statement } from "./database.ts";
import { NEXT_RUN_ID } from "./run-ids.ts";
import type { Outcome, RunTable, Tables } from "./schema.ts";
import { checkText, toJson } from "./task-input.ts";
import type { Phase } from "./transitions.ts";

export interface Run {
  readonly id: number;
  readonly task: string;
  readonly profile: string;
  readonly phase: Phase;
  readonly claimedBy: string;
  readonly worker: Readonly<Record<string, unknown>> | null;
  readonly startedAt: number;
  /** When it may be taken from its worker. */
  readonly expiresAt: number | null;
  readonly heartbeatAt: number | null;
  readonly revokedAt: number | null;
  readonly endedAt: number | null;
  readonly outcome: Outcome | null;
  readonly summary: string | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly error: string | null;
  readonly cost: number | null;
  readonly tokens: number | null;
}

/** What a worker or person may hand over at the end of a run. */
export interface Handover {
  readonly summary?: string | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly error?: string | undefined;
  /** In whatever the worker counts in, usually US dollars. */
  readonly cost?: number | undefined;
  readonly tokens?: number | undefined;
}

export type HandoverColumns = Pick<Selectable<RunTable>, "summary" | "metadata" | "error" | "cost" | "tokens">;
/** Its board is that of its task. */
export type RunRow = Omit<Selectable<RunTable>, "board">;

const LONGEST_ERROR = 2000;

interface EndValues extends HandoverColumns {
  id: number;
  ended_at: number;
  outcome: Outcome;
}

const END = statement<EndValues>((build, hole) =>
  build
    .updateTable("runs")
    .set({
      ended_at: hole("ended_at"),
      outcome: hole("outcome"),
      summary: hole("summary"),
      metadata: hole("metadata"),
      error: hole("error"),
      cost: hole("cost"),
      tokens: hole("tokens"),
    })
    .where("id", "=", hole("id"))
    .where("ended_at", "is", null),
);

/** `board` is that of its task. */
export type NewRun = Omit<RunRow, "id"> & { readonly board: string };

const INSERT = {
  sqlite: statement<NewRun, { id: number }>((build, hole) => insertInto(build, hole, { id: NEXT_RUN_ID })),
  postgres: statement<NewRun, { id: number }>((build, hole) => insertInto(build, hole)),
} as const;

export function insertInto(build: Kysely<Tables>, hole: Holes<NewRun>, numbered: { readonly id?: typeof NEXT_RUN_ID } = {}) {
  return build
    .insertInto("runs")
    .values({
      ...numbered,
      task: hole("task"),
      board: hole("board"),
      profile: hole("profile"),
      phase: hole("phase"),
      token_hash: hole("token_hash"),
      claimed_by: hole("claimed_by"),
      worker: hole("worker"),
      started_at: hole("started_at"),
      expires_at: hole("expires_at"),
      heartbeat_at: hole("heartbeat_at"),
      revoked_at: hole("revoked_at"),
      ended_at: hole("ended_at"),
      outcome: hole("outcome"),
      summary: hole("summary"),
      metadata: hole("metadata"),
      error: hole("error"),
      cost: hole("cost"),
      tokens: hole("tokens"),
    })
    .returning("id");
}

export const SET_WORKER = statement<{ run: number | null; worker: string }>((build, hole) =>
  build
    .updateTable("runs")
    .set({ worker: hole("worker") })
    .where("id", "=", hole("run")),
);

export const NEW_RUN = {
  token_hash: null,
  worker: null,
  expires_at: null,
  heartbeat_at: null,
  revoked_at: null,
  ended_at: null,
  outcome: null,
  summary: null,
  metadata: null,
  error: null,
  cost: null,
  tokens: null,
} as const satisfies Partial<RunRow>;

export async function insertRun(session: Session, row: NewRun): Promise<number> {
  const [inserted] = await session.all(INSERT[session.dialect], row);
  if (inserted === undefined) throw new HoldfastError("internal", `the run of ${row.task} got no id`);
  return inserted.id;
}

export async function endRun(session: Session, id: number, end: Omit<EndValues, "id">): Promise<void> {
  session.defer(END, { id, ...end }, (changed) => {
    if (changed !== 1) throw new HoldfastError("claim-lost", `run ${id} has already ended`, { facts: { run: id } });
  });
}

export function handoverColumns({ summary, metadata, error, cost, tokens }: Handover): HandoverColumns {
  return {
    summary: summary === undefined ? null : checkText("summary", summary),
    metadata: metadata === undefined ? null : toJson("metadata", metadata),
    error: error === undefined ? null : checkError(error),
    cost: checkAmount("cost", cost),
    tokens: checkAmount("tokens", tokens),
  };
}

export function toRun(row: RunRow): Run {
  return {
    id: row.id,
    task: row.task,
    profile: row.profile,
    phase: row.phase,
    claimedBy: row.claimed_by,
    worker: fromJson(row.worker),
    startedAt: row.started_at,
    expiresAt: row.expires_at,
    heartbeatAt: row.heartbeat_at,
    revokedAt: row.revoked_at,
    endedAt: row.ended_at,
    outcome: row.outcome,
    summary: row.summary,
    metadata: fromJson(row.metadata),
    error: row.error,
    cost: row.cost,
    tokens: row.tokens,
  };
}

export function fromJson(text: string | null): Record<string, unknown> | null {
  return text === null ? null : (JSON.parse(text) as Record<string, unknown>);
}

/** Without passwords: whoever may see the board sees it, and so does the next worker. */
export function checkError(text: string): string {
  return checkText("error", shortened(withoutPassword(text)));
}

/** The end of an error says more than its middle. */
function shortened(text: string): string {
  return text.length <= LONGEST_ERROR ? text : `${text.slice(0, LONGEST_ERROR / 2)} … ${text.slice(-LONGEST_ERROR / 2)}`.toWellFormed();
}

function checkAmount(field: "cost" | "tokens", value: number | undefined): number | null {
  if (value === undefined) return null;
  const fits = field === "tokens" ? Number.isSafeInteger(value) : Number.isFinite(value);
  if (fits && value >= 0) return value;
  throw new HoldfastError("invalid-input", `${field} must be a ${field === "tokens" ? "whole " : ""}number of at least 0`, {
    facts: { field },
  });
}
