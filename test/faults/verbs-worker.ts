/** @module A worker that says what it must not. It writes how each attempt ended into `answers` in its workspace. Argument: what it does. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { setInterval } from "node:timers";
import { HoldfastError } from "../../src/base/errors.ts";
import { openStore } from "../../src/board/store.ts";

const { FAULTS_DATABASE: database = "", HOLDFAST_TASK: task = "", HOLDFAST_RUN_TOKEN: token = "" } = process.env;
await using store = await openStore(database);

async function attempt(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
    appendFileSync("answers", "accepted\n");
  } catch (error) {
    appendFileSync("answers", `${HoldfastError.isInstance(error) ? error.code : `untyped ${String(error)}`}\n`);
  }
}
const complete = (id: string, own: string) => attempt(() => store.complete(id, { summary: "mine" }, { token: own }));

switch (process.argv[2]) {
  case "twice":
    await complete(task, token);
    await complete(task, token);
    await attempt(() => store.block(task, { reason: "after all" }, { token }));
    break;
  case "foreign": {
    const other = (await store.getTask(task)).body;
    await complete(other, token);
    await attempt(() => store.comment(other, "from nobody", { token }));
    await attempt(() => store.heartbeat(other, token));
    await complete(task, token);
    break;
  }
  case "old token":
    if (existsSync("token")) {
      const old = readFileSync("token", "utf8");
      await complete(task, old);
      await attempt(() => store.heartbeat(task, old));
      await attempt(() => store.comment(task, "from the past", { token: old }));
      await complete(task, token);
    } else {
      writeFileSync("token", token);
      // Until it is ended.
      setInterval(() => {}, 60_000);
    }
}
