/** @module The tasks of a swarm: a blackboard, workers side by side, one who checks what they did, and one who puts it together (K35). */
import type { PlannedTask } from "../../board/create-tasks.ts";

export interface SwarmWorker {
  readonly profile: string;
  readonly title: string;
  readonly skills?: readonly string[] | undefined;
}

export interface Swarm {
  readonly goal: string;
  readonly workers: readonly SwarmWorker[];
  readonly verifier: string;
  readonly synthesizer: string;
  readonly board: string;
  readonly tenant?: string | undefined;
  readonly priority?: number | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** Where the parts of the list are. */
const ROOT = 0;
const FIRST_WORKER = 1;
const TITLE_CHARS = 200;

/** The root holds everything back until it is finished, so the bodies can be filled in before anybody begins. */
export function swarmTasks(swarm: Swarm): PlannedTask[] {
  const { goal, workers, verifier, synthesizer, board, tenant, priority, idempotencyKey } = swarm;
  const common = { board, ...(tenant !== undefined && { tenant }), ...(priority !== undefined && { priority }) };
  // With their number, so that the same key for another swarm is refused instead of giving a part of the first.
  const key = (part: string) => (idempotencyKey === undefined ? {} : { idempotencyKey: `${idempotencyKey}${part}` });
  const title = (text: string) => shortTitle(text);
  const everyWorker = workers.map((_, index) => FIRST_WORKER + index);
  return [
    { ...common, ...key(""), title: title(goal), body: goal, initial: "blocked", reason: "its tasks are being made" },
    ...workers.map((worker, index) => ({
      ...common,
      ...key(`#worker-${index + 1}/${workers.length}`),
      title: title(worker.title),
      assignee: worker.profile,
      ...(worker.skills && { skills: worker.skills }),
      after: [ROOT],
    })),
    {
      ...common,
      ...key(`#verifier/${workers.length}`),
      title: title(`Verify: ${goal}`),
      assignee: verifier,
      after: [ROOT, ...everyWorker],
    },
    {
      ...common,
      ...key(`#synthesizer/${workers.length}`),
      title: title(`Put together: ${goal}`),
      assignee: synthesizer,
      after: [ROOT, FIRST_WORKER + workers.length],
    },
  ];
}

/** What each of the others is told, in the order of the list and without the root. */
export function swarmBodies({ goal, workers }: Pick<Swarm, "goal" | "workers">, ids: readonly string[]): string[] {
  const root = ids[ROOT] ?? "";
  const workerIds = ids.slice(FIRST_WORKER, FIRST_WORKER + workers.length);
  const verifierId = ids[FIRST_WORKER + workers.length] ?? "";
  const board = `The blackboard is the comments of ${root}: read them with \`holdfast kanban show ${root}\`, and write what others should know with \`holdfast kanban comment ${root} TEXT\`.`;
  const text = (part: string) => `Goal of the swarm:\n${goal}\n\n${part}\n\n${board}\n`;
  return [
    ...workers.map(({ title }, index) =>
      text(`Your part, one of ${workers.length} that are worked on at the same time: ${title}\nOthers: ${others(workerIds, index)}.`),
    ),
    text(
      `Your part: check the results of ${workerIds.join(", ")} against the goal. Complete this task only if they hold; otherwise block it and say what is missing.`,
    ),
    text(`Your part: put the results of ${workerIds.join(", ")} together into one, with what ${verifierId} found when checking them.`),
  ];
}

function others(ids: readonly string[], own: number): string {
  return ids.filter((_, index) => index !== own).join(", ") || "none";
}

function shortTitle(text: string): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line.length <= TITLE_CHARS ? line : `${line.slice(0, TITLE_CHARS - 1).toWellFormed()}…`;
}
