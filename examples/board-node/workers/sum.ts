/** @module A worker: adds the numbers in its task's body, or what the tasks before it have handed over. */
import { writeFile } from "node:fs/promises";
import { openWorker, type Worker } from "holdfast";

await using worker = await openWorker();
const numbers = await numbersOf(worker);
let sum = 0;
for (const number of numbers) {
  // With each step of real work: a worker whose claim was taken away has nothing more to do here.
  await worker.heartbeat();
  sum += number;
}
console.log(`${worker.task}: ${numbers.join(" + ")} = ${sum}`);
await writeFile("sum.txt", `${sum}\n`);
await worker.complete({ summary: `the sum is ${sum}`, metadata: { sum }, artifacts: ["sum.txt"] });

async function numbersOf({ show }: Worker): Promise<number[]> {
  const { task, parents } = await show();
  if (parents.length === 0) return task.body.split(" ").map(Number);
  const before = await Promise.all(parents.map(({ id }) => show(id)));
  return before.map(({ runs }) => Number(runs.at(-1)?.metadata?.sum));
}
