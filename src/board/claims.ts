/** @module Claims: the fenced right to work on a task. Who has the token of its open run may write as that run, and nobody else (K17). */
import { sql } from "kysely";
import { parseProfileName } from "../base/names.ts";
import { type Caps, keepCaps } from "./caps.ts";
import { first, type Holes, type Session, statement } from "./database.ts";
import { addEvent } from "./events.ts";
import { alreadyTaken, claimLost } from "./no-claim.ts";
import { openRun } from "./open-run.ts";
import { refusal } from "./refusal.ts";
import { NEW_RUN, type Run, type RunRow, SET_WORKER, toRun } from "./runs.ts";
import { decideMove, moverOf, type Standing, standingOf, standingOfLocked, taskOfRun } from "./state.ts";
import type { StoreContext } from "./store-context.ts";
import { type Task, toTask } from "./task.ts";
import { checkLine, checkWhole, toJson } from "./task-input.ts";
import { hashToken, newToken } from "./token.ts";
import type { Mover, Status } from "./transitions.ts";

const CLAIM_TTL_MS = 900_000;

export interface ClaimOptions {
  /** Who takes it: a dispatcher, or a person. */
  readonly by: string;
  /** Who works on it. @default the assignee, else `by` */
  readonly profile?: string | undefined;
  /** @default 900000 */
  readonly ttlMs?: number | undefined;
  readonly as?: Extract<Mover, "dispatcher" | "person"> | undefined;
  /** Takes it although a guard says not yet. */
  readonly ignoreGuard?: boolean | undefined;
  /** Counted in the same moment, so that dispatchers in several processes keep them together (K15). */
  readonly caps?: Caps | undefined;
}

export interface NextClaimOptions extends ClaimOptions {
  readonly board: string;
  /** Only tasks of this assignee. */
  readonly assignee?: string | undefined;
  /** @default "ready" */
  readonly status?: "ready" | "review" | undefined;
}

export interface Claim {
  readonly task: Task;
  readonly run: Run;
  /** Given out once: the board keeps only its hash. */
  readonly token: string;
}

export interface HeartbeatOptions {
  /** @default 900000 */
  readonly ttlMs?: number | undefined;
  /** False: it is there but has shown nothing of its own, so it may become stale although it keeps its claim (K22). @default true */
  readonly active?: boolean | undefined;
}

export interface ClaimOperations {
  /** @throws `move-refused`: it is not free, a parent is unfinished, a guard stands, or its board is archived */
  claim(task: string, options: ClaimOptions): Promise<Claim>;
  /** The most urgent and then oldest one that is free, or null. Those who ask at once get different ones. */
  claimNext(options: NextClaimOptions): Promise<Claim | null>;
  /** The worker lives, and keeps its claim that much longer. @throws `claim-lost` */
  heartbeat(task: string, token: string, options?: HeartbeatOptions): Promise<Run>;
  /**
   * What is needed to find the worker's process again.
   * @param told What its event says, which people read.
   * @throws `claim-lost`
   */
  recordWorker(
    task: string,
    token: string,
    worker: Readonly<Record<string, unknown>>,
    told?: Readonly<Record<string, unknown>>,
  ): Promise<void>;
  /**
   * From now on its token is worth nothing. The task stays `running` until `release`, which comes when the worker is known to be dead.
   * False when there was nothing to revoke: it has ended, or with `ifExpiredAt` its worker has just shown that it lives.
   */
  revoke(run: number, options: { by: string; reason: string; ifExpiredAt?: number | undefined }): Promise<boolean>;
}

interface Beat {
  task: string;
  token: string;
  at: number;
  expires: number;
}

const HEARTBEAT = renewal((hole) => ({ heartbeat_at: hole("at"), expires_at: hole("expires") }));
const KEEP = renewal((hole) => ({ expires_at: hole("expires") }));

function renewal(columns: (hole: Holes<Beat>) => Partial<RunRow>) {
  return statement<Beat, RunRow>((build, hole) =>
    build
      .updateTable("runs")
      .set(columns(hole))
      .where("task", "=", hole("task"))
      .where("ended_at", "is", null)
      .where("revoked_at", "is", null)
      .where("token_hash", "=", hole("token"))
      .returningAll(),
  );
}

const REVOKE = statement<{ run: number; at: number; expired: number }>((build, hole) =>
  build
    .updateTable("runs")
    .set({ revoked_at: hole("at") })
    .where("id", "=", hole("run"))
    .where("ended_at", "is", null)
    .where("revoked_at", "is", null)
    .where("expires_at", "<=", hole("expired")),
);

interface Wanted {
  board: string;
  status: Status;
  at: number;
  assignee: string;
}

const NEXT = {
  alone: { any: nextStatement({ own: false, lock: false }), own: nextStatement({ own: true, lock: false }) },
  locking: { any: nextStatement({ own: false, lock: true }), own: nextStatement({ own: true, lock: true }) },
} as const;

/** The first one that nobody else is just taking. */
function nextStatement({ own, lock }: { own: boolean; lock: boolean }) {
  return statement<Wanted, { id: string }>((build, hole) => {
    const free = build
      .selectFrom("tasks")
      .select("id")
      .where("board", "=", hole("board"))
      .where("status", "=", hole("status"))
      .where((where) => where.or([where("guard_until", "is", null), where("guard_until", "<=", hole("at"))]))
      .orderBy("priority", "desc")
      .orderBy("seq")
      .limit(sql.lit(1));
    const wanted = own ? free.where("assignee", "=", hole("assignee")) : free;
    return lock ? wanted.forNoKeyUpdate().skipLocked() : wanted;
  });
}

export function claimOperations({ database, clock }: StoreContext): ClaimOperations {
  return {
    claim: (id, options) =>
      database.write(async (session) => take(session, await standingOf(session, id), { ...options, at: clock.now() })),
    claimNext: ({ board, assignee, status = "ready", ...options }) =>
      database.write(async (session) => {
        const at = clock.now();
        const next = NEXT[session.alone ? "alone" : "locking"][assignee === undefined ? "any" : "own"];
        const wanted = { board, status, at, assignee: assignee === undefined ? "" : parseProfileName(assignee) };
        const found = await first(session.all(next, wanted));
        return found === undefined ? null : await take(session, await standingOfLocked(session, found.id), { ...options, at });
      }),
    heartbeat: (task, token, { ttlMs = CLAIM_TTL_MS, active = true } = {}) =>
      database.write(async (session) => {
        const at = clock.now();
        const expires = at + checkWhole("ttlMs", ttlMs);
        const run = await first(session.all(active ? HEARTBEAT : KEEP, { task, token: hashToken(token), at, expires }));
        if (run === undefined) throw await claimLost(session, { task, token });
        return toRun(run);
      }),
    recordWorker: (task, token, worker, told = {}) =>
      database.write(async (session) => {
        const standing = await standingOf(session, task);
        const { name } = await moverOf(session, standing, { token });
        await session.run(SET_WORKER, { run: standing.run_id, worker: toJson("worker", worker) });
        await addEvent(session, {
          board: standing.board,
          task,
          run: standing.run_id,
          kind: "worker_started",
          actor: name,
          at: clock.now(),
          payload: told,
        });
      }),
    revoke: (run, { by, reason, ifExpiredAt = Number.MAX_SAFE_INTEGER }) =>
      database.write(async (session) => {
        const at = clock.now();
        const task = await taskOfRun(session, run);
        if (task === undefined || (await session.run(REVOKE, { run, at, expired: ifExpiredAt })) === 0) return false;
        await addEvent(session, {
          board: task.board,
          task: task.id,
          run,
          kind: "revoked",
          actor: checkLine("by", by),
          at,
          payload: { reason },
        });
        return true;
      }),
  };
}

async function take(session: Session, task: Standing, options: ClaimOptions & { at: number }): Promise<Claim> {
  const { by, profile, ttlMs = CLAIM_TTL_MS, as = "dispatcher", ignoreGuard = false, at } = options;
  if (!ignoreGuard && task.guard_until !== null && task.guard_until > at && ["ready", "review"].includes(task.status)) {
    throw refusal(task, "claim", `it is guarded (${task.guard_reason}) until ${new Date(task.guard_until).toISOString()}`);
  }
  // No dispatcher looks at what runs there.
  if (task.board_archived !== null) throw refusal(task, "claim", `its board ${task.board} is archived`);
  const name = checkLine("by", by);
  const worker = profile === undefined ? (task.assignee ?? name) : parseProfileName(profile);
  if (options.caps !== undefined) await keepCaps(session, task, { caps: options.caps, profile: worker });
  const token = newToken();
  const row = {
    ...NEW_RUN,
    task: task.id,
    profile: worker,
    phase: task.phase,
    token_hash: hashToken(token),
    claimed_by: name,
    started_at: at,
    expires_at: at + checkWhole("ttlMs", ttlMs),
    heartbeat_at: at,
  };
  if (task.run_id !== null) throw await alreadyTaken(session, task, { run: task.run_id, at });
  const changes = { started_at: task.started_at ?? at, guard_reason: null, guard_until: null };
  const payload = { profile: worker, expiresAt: row.expires_at };
  const move = decideMove(task, { action: "claim", mover: { kind: as, name }, kind: "claimed", at, changes, payload });
  const id = await openRun(session, task, { run: { ...row, board: task.board }, move });
  return { task: toTask(task), run: toRun({ ...row, id }), token };
}
