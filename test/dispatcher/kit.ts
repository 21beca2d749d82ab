/** @module What the cases of the dispatcher have in common. */
import { expect } from "vitest";
import type { NewTask } from "../../src/board/create-task.ts";
import type { Task } from "../../src/board/task.ts";
import type { Bench } from "./bench.ts";

export type Cases = Readonly<Record<string, (bench: Bench) => Promise<void>>>;

/** A new task with a live worker. */
export async function spawn(bench: Bench, input: Partial<NewTask> = {}): Promise<Task> {
  const task = await bench.task(input);
  await bench.dispatcher.runOnce("default");
  expect(bench.world.living(task.id)).toHaveLength(1);
  return task;
}

/** A new task whose first run has failed. */
export async function runAndCrash(bench: Bench): Promise<Task> {
  const task = await spawn(bench);
  await bench.world.exit(task.id, { code: 1 });
  expect(await bench.dispatcher.runOnce("default", { wait: true })).toMatchObject({ crashed: [task.id] });
  return await bench.store.getTask(task.id);
}

export function gaveUp({ status, blocked }: Task): boolean {
  return status === "blocked" && blocked?.kind === "gave_up";
}
