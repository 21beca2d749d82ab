/** @module A process that makes, takes and completes tasks until it is killed, and prints each id when its task is done. Arguments: location. */
import { writeSync } from "node:fs";
import { openStore } from "../../src/board/store.ts";

const store = await openStore(process.argv[2] ?? "");
const by = { by: `process-${process.pid}` };
for (;;) {
  const { task } = await store.createTask({ title: "a" }, by);
  const child = await store.createTask({ title: "b", parents: [task.id] }, by);
  const { token } = await store.claim(task.id, by);
  await store.complete(task.id, { summary: child.task.id }, { token });
  writeSync(1, `${task.id} ${child.task.id}\n`);
}
