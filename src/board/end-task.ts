/** @module The words with which a run ends, or with which a person ends a task that never had one: complete, block, review, changes. */
import { first, type Session, statement } from "./database.ts";
import type { EventKind } from "./events.ts";
import { refusedToPerson } from "./refusal.ts";
import { loadCron, needsCron } from "./repeat.ts";
import { endRun, type Handover, type HandoverColumns, handoverColumns, insertRun, NEW_RUN } from "./runs.ts";
import { BLOCK_KINDS, type BlockKind, type Outcome, type TaskState } from "./schema.ts";
import { type ActingAs, type Actor, moverOf, moveTask, promoteChildren, type Standing, standingOf } from "./state.ts";
import type { StoreContext } from "./store-context.ts";
import { makeSuccessor } from "./successor.ts";
import { type Task, toTask } from "./task.ts";
import { checkAssignee, checkText } from "./task-input.ts";
import { hashToken } from "./token.ts";
import type { Action } from "./transitions.ts";

export interface BlockOptions extends Handover {
  readonly reason: string;
  /** `dependency`: another task comes first, which must be linked already. It goes on by itself when that is finished. */
  readonly kind?: "dependency" | Exclude<BlockKind, "gave_up" | "deadline"> | undefined;
}

/** Of a run, each counts once: the same words again, with the same token, are no mistake and change nothing. */
export interface EndOperations {
  /** Its children go on at once. Refused while a parent is unfinished. */
  complete(task: string, handover: Handover, actor: Actor): Promise<Task>;
  block(task: string, options: BlockOptions, actor: Actor): Promise<Task>;
  /** From then on, whoever takes it reviews it. */
  requestReview(task: string, options: Handover & { reviewer?: string | undefined }, actor: Actor): Promise<Task>;
  /** The end of a review: whoever did the work goes on with it. */
  requestChanges(task: string, options: Handover & { reason: string }, actor: Actor): Promise<Task>;
}

const NOT_BLOCKED = { block_kind: null, block_reason: null, blocked_by: null } as const;
const NO_GUARD = { guard_reason: null, guard_until: null } as const;
/** The worker had the last word, so nothing failed. */
const NO_FAILURES = { failures: 0, violations: 0, last_error: null } as const;

const HANDED_OVER = ["summary", "metadata", "error", "cost", "tokens"] as const satisfies readonly (keyof HandoverColumns)[];

const ENDED_RUN = statement<{ task: string; token: string }, HandoverColumns & { outcome: Outcome | null }>((build, hole) =>
  build
    .selectFrom("runs")
    .select(["outcome", ...HANDED_OVER])
    .where("task", "=", hole("task"))
    .where("token_hash", "=", hole("token"))
    .where("ended_at", "is not", null),
);

interface Ending {
  readonly action: Action;
  readonly outcome: Outcome;
  readonly kind: EventKind;
  readonly handover: Handover;
  readonly changes: (standing: Standing, mover: ActingAs, at: number) => Partial<TaskState>;
  readonly payload?: Readonly<Record<string, unknown>>;
}

export function endOperations({ database, clock }: StoreContext): EndOperations {
  const end = async (id: string, actor: Actor, ending: Ending): Promise<Task> => {
    const work = async (session: Session) => {
      const task = await standingOf(session, id);
      if (await saidBefore(session, task, { actor, ending })) return toTask(task);
      if (ending.action === "complete" && needsCron(task.repeat)) return null;
      return await endWith(session, task, { actor, ending, at: clock.now() });
    };
    const ended = await database.write(work, { repeatable: actor.token !== undefined });
    if (ended !== null) return ended;
    await loadCron();
    return await end(id, actor, ending);
  };

  return {
    complete: (id, handover, actor) =>
      end(id, actor, {
        action: "complete",
        outcome: "completed",
        kind: "completed",
        handover,
        changes: (_, __, at) => ({ ...NOT_BLOCKED, ...NO_GUARD, ...NO_FAILURES, completed_at: at }),
        payload: handover.summary === undefined ? {} : { summary: handover.summary },
      }),
    async block(id, { reason, kind, ...handover }, actor) {
      const text = checkText("reason", reason);
      const waits = kind === "dependency";
      const blockKind = BLOCK_KINDS.find((each) => each === kind) ?? null;
      return await end(id, actor, {
        action: waits ? "wait" : "block",
        outcome: waits ? "waiting" : "blocked",
        kind: waits ? "waiting" : "blocked",
        handover: { summary: text, ...handover },
        changes: (_, { name }) => ({
          ...NO_FAILURES,
          ...(waits ? NOT_BLOCKED : { block_kind: blockKind, block_reason: text, blocked_by: name }),
        }),
        payload: { reason: text, kind: kind ?? null },
      });
    },
    async requestReview(id, { reviewer, ...handover }, actor) {
      const assignee = checkAssignee(reviewer);
      return await end(id, actor, {
        action: "request review",
        outcome: "review_requested",
        kind: "review_requested",
        handover,
        changes: (task) => ({
          ...NOT_BLOCKED,
          ...NO_FAILURES,
          implementer: task.phase === "review" ? task.implementer : (task.run_profile ?? task.assignee),
          assignee: assignee ?? task.assignee,
        }),
        payload: { reviewer: assignee },
      });
    },
    requestChanges: async (id, { reason, ...handover }, actor) =>
      end(id, actor, {
        action: "request changes",
        outcome: "changes_requested",
        kind: "changes_requested",
        handover: { summary: checkText("reason", reason), ...handover },
        changes: (task) => ({ ...NO_GUARD, ...NO_FAILURES, assignee: task.implementer ?? task.assignee, implementer: null }),
        payload: { reason },
      }),
  };
}

/**
 * The run of this token has ended with just these words. Whoever has not heard the answer may say them again: they count once, whatever
 * became of the task since.
 */
async function saidBefore(
  session: Session,
  task: Standing,
  { actor: { token }, ending }: { actor: Actor; ending: Ending },
): Promise<boolean> {
  if (token === undefined || task.run_token === hashToken(token)) return false;
  const run = await first(session.all(ENDED_RUN, { task: task.id, token: hashToken(token) }));
  if (run === undefined || run.outcome !== ending.outcome) return false;
  const columns = handoverColumns(ending.handover);
  return HANDED_OVER.every((column) => run[column] === columns[column]);
}

async function endWith(
  session: Session,
  task: Standing,
  { actor, ending, at }: { actor: Actor; ending: Ending; at: number },
): Promise<Task> {
  const { action, outcome, kind, handover, changes, payload } = ending;
  const mover = await moverOf(session, task, actor);
  if (task.status === "running" && mover.kind === "person") throw refusedToPerson(task, action);
  const columns = handoverColumns(handover);
  const run = await closeRun(session, task, { mover, at, end: { ...columns, outcome, ended_at: at } });
  const moved = await moveTask(session, task, {
    action,
    mover,
    kind,
    at,
    run,
    changes: changes(task, mover, at),
    ...(payload && { payload }),
  });
  if (moved.status === "done") {
    await makeSuccessor(session, moved, at);
    await promoteChildren(session, task.id, at);
  }
  return toTask(moved);
}

interface Closing {
  readonly mover: ActingAs;
  readonly at: number;
  readonly end: Parameters<typeof endRun>[2];
}

/** What is handed over must not be lost, so a task that nobody has claimed gets a run that ends as it begins. */
async function closeRun(session: Session, task: Standing, { mover, at, end }: Closing): Promise<number> {
  if (task.run_id === null) {
    return await insertRun(session, {
      ...NEW_RUN,
      task: task.id,
      board: task.board,
      phase: task.phase,
      profile: mover.name,
      claimed_by: mover.name,
      started_at: at,
      ...end,
    });
  }
  await endRun(session, task.run_id, end);
  return task.run_id;
}
