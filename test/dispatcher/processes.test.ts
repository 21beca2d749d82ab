import { type ChildProcess, spawn } from "node:child_process";
import { on, once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { openStore } from "../../src/board/store.ts";
import type { DispatchResult } from "../../src/dispatcher/result.ts";
import { POSTGRES_LIMIT_MS, testPostgres } from "../helpers/postgres.ts";
import { describeIf } from "../helpers/requirements.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";

const LIMIT_MS = 60_000;
const ME = { by: "me" };

test(
  "K23 K24 in a file: a task made here is started there, and when that process is killed, the other takes over",
  async () => {
    await using directory = await temporaryDirectory();
    await takeOver(join(directory.path, "board.db"));
  },
  LIMIT_MS,
);

describeIf(["postgres"], "with PostgreSQL", () => {
  test(
    "K23 K24 a task made here is started there, and when that process is killed, the other takes over",
    async () => {
      await using server = await testPostgres();
      await takeOver(await server.createDatabase());
    },
    LIMIT_MS + POSTGRES_LIMIT_MS,
  );
});

async function takeOver(location: string): Promise<void> {
  await using store = await openStore(location);
  await using first = startProcess(location, "first");
  await first.pass(({ skipped_locked: locked }) => !locked);
  await using second = startProcess(location, "second");
  await second.pass(({ skipped_locked: locked }) => locked);

  const before = await store.createTask({ title: "a", assignee: "coder" }, ME);
  await first.pass(({ spawned }) => spawned[0]?.task === before.task.id);
  expect(await store.leader("default")).toMatchObject({ holder: "dispatcher/first", term: 1 });

  await first[Symbol.asyncDispose]();
  const after = await store.createTask({ title: "b", assignee: "coder" }, ME);
  await second.pass(({ spawned }) => spawned[0]?.task === after.task.id);
  expect(await store.leader("default")).toMatchObject({ holder: "dispatcher/second", term: 2 });
  const runs = await store.runs({ board: "default" });
  expect(runs.map(({ task, claimedBy }) => [task, claimedBy])).toEqual([
    [before.task.id, "dispatcher/first"],
    [after.task.id, "dispatcher/second"],
  ]);
}

function startProcess(location: string, name: string) {
  const program = join(import.meta.dirname, "serving-process.ts");
  const child: ChildProcess = spawn(process.execPath, [program, location, name], { stdio: ["pipe", "pipe", "inherit"] });
  if (child.stdout === null) throw new Error("unreachable");
  const lines = on(createInterface(child.stdout), "line", { close: ["close"] });
  return {
    /** Waits for a pass that is so. */
    async pass(wanted: (result: DispatchResult) => boolean): Promise<void> {
      for (;;) {
        const { value, done } = await lines.next();
        if (done === true) throw new Error(`${name} has ended`);
        if (wanted(JSON.parse(String(value[0])) as DispatchResult)) return;
      }
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}
