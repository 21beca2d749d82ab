import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { openStore } from "../../src/board/store.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";

const PROCESSES = 3;
const TASKS = 150;
const ME = { by: "me" };

type Claimer = ChildProcessByStdio<Writable, Readable, null>;

test("K17 K25 processes that take tasks from one file at once never take the same, and lose nothing", async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, "board.db");
  await using store = await openStore(path);
  const ids: string[] = [];
  for (let index = 0; index < TASKS; index += 1) ids.push((await store.createTask({ title: "a", priority: index % 2 }, ME)).task.id);

  const claimers = Array.from({ length: PROCESSES }, () => startClaimer(path));
  await Promise.all(claimers.map(({ stdout }) => once(stdout, "readable")));
  const outputs = claimers.map(({ stdout }) => text(stdout));
  for (const { stdin } of claimers) stdin.end();
  const taken = (await Promise.all(outputs)).map((output) => output.trim().split("\n").slice(1));

  expect(taken.flat().toSorted()).toEqual(ids.toSorted());
  const runs = await store.runs({ board: "default" });
  expect(runs.map(({ task }) => task).toSorted()).toEqual(ids.toSorted());
  expect(await store.counts("default")).toMatchObject({ ready: 0, done: TASKS / 2, running: TASKS / 2 });
  expect(await store.check()).toEqual([]);
}, 60_000);

test("K25 processes that are killed while they write lose nothing that was acknowledged, and damage nothing", async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, "board.db");
  const written = await Promise.all([15, 40, 70].map((lines) => writeUntilKilled(path, lines)));
  await using store = await openStore(path);
  expect(await store.check()).toEqual([]);
  for (const [id = "", child = ""] of written.flat()) {
    expect(await store.getTask(id)).toMatchObject({ status: "done" });
    expect(await store.getTask(child)).toMatchObject({ status: "ready" });
  }
}, 60_000);

function startClaimer(path: string): Claimer {
  return spawn(process.execPath, [join(import.meta.dirname, "claimer.ts"), path, "default"], { stdio: ["pipe", "pipe", "inherit"] });
}

/** The pairs of ids that it printed, at least so many. */
async function writeUntilKilled(path: string, lines: number): Promise<string[][]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "writer.ts"), path], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    output += chunk;
    if (output.split("\n").length > lines) child.kill("SIGKILL");
  }
  const whole = output.slice(0, output.lastIndexOf("\n"));
  return whole.split("\n").map((line) => line.split(" "));
}

test("K25 a new file can be opened by many processes at once", async () => {
  await using directory = await temporaryDirectory();
  for (let round = 0; round < 3; round += 1) {
    const path = join(directory.path, `board-${round}.db`);
    const openers = Array.from({ length: 8 }, () =>
      spawn(process.execPath, [join(import.meta.dirname, "opener.ts"), path], { stdio: ["pipe", "pipe", "inherit"] }),
    );
    await Promise.all(openers.map(({ stdout }) => once(stdout, "readable")));
    const outputs = openers.map(({ stdout }) => text(stdout));
    for (const { stdin } of openers) stdin.end();
    const made = (await Promise.all(outputs)).map((output) => output.trim().split("\n")[1]);
    await using store = await openStore(path);
    expect((await store.listTasks()).map(({ id }) => id).toSorted()).toEqual(made.toSorted());
  }
});
