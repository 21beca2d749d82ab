/** @module A process that is ready to open a board, and does when its input ends. Argument: location. */
import { once } from "node:events";
import { systemClock } from "../../src/base/clock.ts";
import { openEngine } from "../../src/board/engine.ts";

console.log("ready");
await once(process.stdin.resume(), "end");
const store = await openEngine(process.argv[2] ?? "", { clock: systemClock, busyLimitMs: 10_000 });
const { task } = await store.createTask({ title: "from elsewhere" }, { by: `process-${process.pid}` });
console.log(task.id);
await store[Symbol.asyncDispose]();
