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

function startClaimer(path: string): Claimer {
  const program = join(import.meta.dirname, "claimer.ts");
  return spawn(process.execPath, [program, path, "default"], { stdio: ["pipe", "pipe", "inherit"] });
}
