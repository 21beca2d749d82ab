/**
 * @module A process that writes to a board until it is killed. What the board has acknowledged it writes into a file of its own, a line for
 * each; so does it with errors. Arguments: location, file.
 */
import { openSync, writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { HoldfastError } from "../../src/base/errors.ts";
import { openStore, type Store } from "../../src/board/store.ts";

const [location = "", file = ""] = process.argv.slice(2);
const journal = openSync(file, "a");
const note = (...words: string[]) => void writeSync(journal, `${words.join(" ")}\n`);
const by = { by: `process-${process.pid}` };

const store = await open();
note("open");
for (;;) {
  try {
    await writeOnce();
  } catch (error) {
    if (!HoldfastError.isInstance(error)) {
      note("untyped", String(error).replaceAll("\n", " "));
      throw error;
    }
    note("error", error.code);
    await pause(50);
  }
}

async function open(): Promise<Store> {
  for (;;) {
    try {
      return await openStore(location);
    } catch (error) {
      if (!HoldfastError.isInstance(error) || !error.retryable) throw error;
      note("error", error.code);
      await pause(50);
    }
  }
}

async function writeOnce(): Promise<void> {
  const { task } = await store.createTask({ title: "written" }, by);
  note("created", task.id);
  const child = await store.createTask({ title: "child", parents: [task.id] }, by);
  note("created", child.task.id);
  const comment = await store.comment(task.id, `by ${process.pid}`, by);
  note("commented", task.id, String(comment.id));
  const claim = await store.claim(task.id, by);
  note("claimed", task.id, String(claim.run.id));
  await store.complete(task.id, { summary: child.task.id }, { token: claim.token });
  note("completed", task.id, child.task.id);
}
