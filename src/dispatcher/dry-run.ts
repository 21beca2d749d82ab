/** @module What a pass that waits for its endings would do, found out by reading alone (K16). */

import { exitOf } from "../board/exit.ts";
import { countRelease } from "../board/failures.ts";
import type { Store } from "../board/store.ts";
import type { Task } from "../board/task.ts";
import { landing } from "../board/transitions.ts";
import type { WaitingTask } from "../board/waiting.ts";
import { restAfterVerdict } from "./backoff.ts";
import { classifyExit } from "./classify-exit.ts";
import { bucketOf } from "./judge.ts";
import { type Judged, type LookOptions, lookAtRuns } from "./look-at-runs.ts";
import type { Predecessors } from "./predecessors.ts";
import { whatIsDue } from "./promote.ts";
import { findMisfits } from "./reconcile.ts";
import type { DispatchResult } from "./result.ts";
import { route } from "./route.ts";
import { distrustOf } from "./trust.ts";
import type { WorkerDirectory } from "./worker.ts";

export interface DryRunOptions extends LookOptions {
  readonly store: Store;
  readonly predecessors: Predecessors;
  readonly workers: WorkerDirectory;
  readonly max: number | undefined;
  readonly random: () => number;
  readonly result: DispatchResult;
}

export async function dryRun(options: DryRunOptions): Promise<void> {
  const { store, predecessors, board, settings, time, result } = options;
  const running = await store.running();
  const open = await store.openRuns(board);
  const ended = (await lookAtRuns(options)).filter(({ run, ours }) => {
    if (!ours) result.elsewhere.push(run.task);
    return ours;
  });
  const freed: WaitingTask[] = [];
  for (const judged of ended) {
    running[judged.run.profile] = (running[judged.run.profile] ?? 1) - 1;
    freed.push(...(await released(judged, options)));
  }
  if (settings.reconcile) {
    const { loose, bare } = await findMisfits(store, board);
    result.reconciled.push(...loose.map(({ task }) => task), ...bare);
  }
  const { due, late } = await whatIsDue(store, board, time.now);
  for (const task of due) {
    result.promoted.push(task.id);
    freed.push(...(await landed(store, task)));
  }
  result.deadline_missed.push(...late.map(({ id }) => id));
  const missed = new Set(result.deadline_missed);
  const dead = new Set(ended.map(({ run }) => run.task));
  const free = [...(await store.waiting(board)), ...freed].filter(({ id }) => !missed.has(id));
  const waiting = free.toSorted((a, b) => b.priority - a.priority || a.seq - b.seq);
  await route(waiting, {
    ...options,
    now: time.now,
    running,
    onBoard: open.length - ended.length,
    actions: {
      assign: async () => true,
      distrust: (task, profile, worker) => distrustOf({ ...task, board }, { profile, worker }, options),
      previous: async ({ id }) =>
        dead.has(id) ? { clear: true, last: null } : await predecessors.check(id, { settings, time, dryRun: true }),
      take: async ({ task, assignee }) => {
        result.spawned.push({ task: task.id, assignee, workspace: task.workspace });
        return "taken";
      },
    },
  });
}

async function released({ run, verdict }: Judged, { store, settings, time, random, result }: DryRunOptions): Promise<WaitingTask[]> {
  const { outcome } = verdict.outcome === null ? classifyExit(exitOf(run)) : { outcome: verdict.outcome };
  result[bucketOf(outcome, verdict)].push(run.task);
  const task = await store.getTask(run.task);
  const { giveUp } = countRelease(outcome, task, { failureLimit: settings.failureLimit, maxRetries: task.maxRetries });
  if (giveUp) {
    result.auto_blocked.push(task.id);
    return [];
  }
  return await landed(store, { ...task, guard: restAfterVerdict(verdict, outcome, { task, settings, now: time.now, random }) ?? null });
}

/** Nothing while a parent is unfinished. */
async function landed(store: Store, task: Task): Promise<WaitingTask[]> {
  const { unfinishedParents } = await store.whyFacts(task.id);
  const status = landing(unfinishedParents.length === 0, task.phase);
  return status === "ready" || status === "review" ? [{ ...task, status }] : [];
}
