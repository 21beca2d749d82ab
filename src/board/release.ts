/** @module A run that is taken from its worker, or whose worker is gone: how it counts, and where the task goes (K20). */
import { HoldfastError } from "../base/errors.ts";
import type { Session } from "./database.ts";
import { addEvent } from "./events.ts";
import { countRelease, type Release, type Streaks } from "./failures.ts";
import { endRun, handoverColumns } from "./runs.ts";
import { type ActingAs, moveTask, type Standing, taskOfRun } from "./state.ts";
import type { StoreContext } from "./store-context.ts";
import { type Task, toTask } from "./task.ts";
import { checkAssignee, checkLine, checkText } from "./task-input.ts";

export interface ReleaseOptions {
  readonly by: string;
  readonly outcome: Release;
  readonly error?: string | undefined;
  /** How many failures one after the other are too many, unless the task says so itself. @default 2 */
  readonly failureLimit?: number | undefined;
  /** Nobody takes the task before then: a pause after a failure, a limit of a provider. */
  readonly guard?: { readonly reason: string; readonly until: number } | undefined;
  /** An operator knows better: begins again without failures. */
  readonly forgetFailures?: boolean | undefined;
  /** Who works on it from now on, before anybody can take it again. */
  readonly assignee?: string | null | undefined;
  /** Nobody shall take it again: why. */
  readonly block?: string | undefined;
}

export interface Released {
  readonly task: Task;
  /** The failures were too many, so it is blocked now. */
  readonly gaveUp: boolean;
}

export interface ReleaseOperations {
  /** Only when its worker is dead or never lived. @throws `claim-lost` when the run has already ended */
  release(run: number, options: ReleaseOptions): Promise<Released>;
}

export function releaseOperations({ database, clock }: StoreContext): ReleaseOperations {
  return {
    release: (run, options) =>
      database.write(async (session) => {
        const task = await taskOfRun(session, run);
        if (task === undefined) throw new HoldfastError("claim-lost", `run ${run} has already ended`, { facts: { run } });
        const { outcome, error } = options;
        const at = clock.now();
        const end = handoverColumns({ error });
        await endRun(session, run, { ...end, outcome, ended_at: at });
        const mover = { kind: "dispatcher", name: checkLine("by", options.by) } as const;
        const step = { session, task, run, mover, at, error: end.error };
        const { giveUp, ...streaks } = countRelease(outcome, task, { maxRetries: task.max_retries, failureLimit: options.failureLimit });
        if (options.block !== undefined) return await blockFor(step, { outcome, reason: checkText("block", options.block) });
        return giveUp ? await giveUpOn(step, { outcome, streaks }) : await setFree(step, { options, streaks });
      }),
  };
}

interface Step {
  readonly session: Session;
  readonly task: Standing;
  readonly run: number;
  readonly mover: ActingAs;
  readonly at: number;
  readonly error: string | null;
}

async function setFree(step: Step, { options, streaks }: { options: ReleaseOptions; streaks: Streaks }): Promise<Released> {
  const { session, task, run, mover, at, error } = step;
  const { outcome, guard, forgetFailures = false } = options;
  const changes = {
    ...(forgetFailures ? { failures: 0, violations: 0 } : streaks),
    ...(options.assignee !== undefined && { assignee: checkAssignee(options.assignee) }),
    last_error: error ?? task.last_error,
    guard_reason: guard?.reason ?? null,
    guard_until: guard?.until ?? null,
  };
  const payload = {
    ...(error !== null && { error }),
    ...(guard && { guard }),
    ...(options.assignee !== undefined && { assignee: options.assignee }),
  };
  const moved = await moveTask(session, task, { action: "release", mover, kind: outcome, at, run, changes, payload });
  return { task: toTask(moved), gaveUp: false };
}

/** By whoever has taken it back. */
async function blockFor(step: Step, { outcome, reason }: { outcome: Release; reason: string }): Promise<Released> {
  const { session, task, run, mover, at } = step;
  const blocked = { block_kind: null, block_reason: reason, blocked_by: mover.name, guard_reason: null, guard_until: null } as const;
  const changes = { ...blocked, failures: 0, violations: 0 };
  const payload = { outcome, reason, kind: null };
  const moved = await moveTask(session, task, { action: "give up", mover, kind: "blocked", at, run, changes, payload });
  return { task: toTask(moved), gaveUp: false };
}

/** How the run ended and that the board gave up are two things to know. */
async function giveUpOn(step: Step, { outcome, streaks }: { outcome: Release; streaks: Streaks }): Promise<Released> {
  const { session, task, run, mover, at, error } = step;
  await addEvent(session, {
    board: task.board,
    task: task.id,
    run,
    kind: outcome,
    actor: mover.name,
    at,
    payload: error === null ? {} : { error },
  });
  const blocked = { block_kind: "gave_up", block_reason: error ?? outcome, blocked_by: mover.name } as const;
  const changes = { ...streaks, ...blocked, last_error: error ?? task.last_error, guard_reason: null, guard_until: null };
  const payload = { ...streaks, reason: blocked.block_reason };
  const moved = await moveTask(session, task, { action: "give up", mover, kind: "gave_up", at, run, changes, payload });
  return { task: toTask(moved), gaveUp: true };
}
