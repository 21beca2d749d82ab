import { execFile } from "node:child_process";
import { mkdir, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { openStore, type Store } from "../../src/board/store.ts";
import { POSTGRES_LIMIT_MS, testPostgres } from "../helpers/postgres.ts";
import { describeIf } from "../helpers/requirements.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { type DispatcherHandle, openFaultBench } from "./bench.ts";
import { findLost, startWriters } from "./writers.ts";

const run = promisify(execFile);
const ME = { by: "me" };
const TEST = { timeout: 120_000 };
const LIMIT = { timeout: 60_000, interval: 50 };
const REFUSAL = { name: "HoldfastError", code: "board-unavailable", retryable: true };

const has = ({ lines }: DispatcherHandle, pattern: RegExp) => lines.some((line) => pattern.test(line));

interface Disk extends AsyncDisposable {
  readonly path: string;
  /** Takes all space that is left. */
  fill(): Promise<void>;
  free(): Promise<void>;
}

async function smallDisk(): Promise<Disk> {
  const directory = await temporaryDirectory();
  const path = join(directory.path, "disk");
  await mkdir(path);
  await run("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", path]);
  const filler = join(path, "filler");
  return {
    path,
    async fill() {
      await using file = await open(filler, "a");
      const error = await (async () => {
        for (;;) await file.write(Buffer.alloc(4096, 1));
      })().catch((each: unknown) => each);
      expect(error).toMatchObject({ code: "ENOSPC" });
    },
    free: () => rm(filler),
    async [Symbol.asyncDispose]() {
      await run("umount", ["--lazy", path]);
      await directory[Symbol.asyncDispose]();
    },
  };
}

async function writeUntilRefused(store: Store): Promise<{ written: string[]; error: unknown }> {
  const written: string[] = [];
  for (;;) {
    try {
      written.push((await store.createTask({ title: "fits", body: "x".repeat(5000) }, ME)).task.id);
    } catch (error) {
      return { written, error };
    }
  }
}

describeIf("mount", "a full disk", () => {
  test("K25 refuses what does not fit with a typed error, keeps what was acknowledged, and all works again with space", TEST, async () => {
    await using disk = await smallDisk();
    const path = join(disk.path, "board.db");
    await using store = await openStore(path);
    await using reader = await openStore(path);
    const before = (await store.createTask({ title: "before" }, ME)).task.id;
    await disk.fill();
    const { written, error } = await writeUntilRefused(store);
    expect(error).toMatchObject(REFUSAL);
    await expect(openStore(join(disk.path, "new.db"))).rejects.toMatchObject(REFUSAL);
    // Who only reads needs no space.
    expect((await reader.listTasks()).map(({ id }) => id)).toEqual([before, ...written]);
    await disk.free();
    const after = (await store.createTask({ title: "after" }, ME)).task.id;
    expect((await reader.listTasks()).map(({ id }) => id)).toEqual([before, ...written, after]);
    expect(await reader.check()).toEqual([]);
  });

  test("K25 is told once by a dispatcher, which goes on by itself when there is space", TEST, async () => {
    await using disk = await smallDisk();
    await using bench = await openFaultBench({ database: join(disk.path, "board.db"), workers: { coder: ["sleep", "1000"] } });
    const dispatcher = bench.startDispatcher();
    await dispatcher.said.until(() => has(dispatcher, /^pass default leads/));
    await disk.fill();
    await vi.waitFor(() => expect(has(dispatcher, /^error leading board default failed: .*full/)).toBe(true), LIMIT);
    await disk.free();
    const { task } = await bench.store.createTask({ title: "after", assignee: "coder" }, ME);
    await vi.waitFor(() => expect(dispatcher.lines).toContain(`spawned ${task.id}`), LIMIT);
    const told = dispatcher.lines.filter((line) => line.startsWith("error leading"));
    expect(told).toHaveLength(1);
  });
});

describeIf("mount", "a board that can only be read", () => {
  test("K25 is refused with a typed error and stays as it is", TEST, async () => {
    await using disk = await smallDisk();
    const path = join(disk.path, "board.db");
    {
      await using store = await openStore(path);
      await store.createTask({ title: "kept" }, ME);
    }
    const bytes = await readFile(path);
    await run("mount", ["-o", "remount,ro", disk.path]);
    await expect(openStore(path)).rejects.toMatchObject(REFUSAL);
    await run("mount", ["-o", "remount,rw", disk.path]);
    expect((await readFile(path)).equals(bytes)).toBe(true);
    await using store = await openStore(path);
    expect(await store.listTasks()).toMatchObject([{ title: "kept" }]);
  });
});

describeIf("postgres", "PostgreSQL", () => {
  test("K24 K25 that is restarted under load: typed errors, nothing acknowledged lost, and the dispatcher goes on by itself", {
    timeout: POSTGRES_LIMIT_MS + 60_000,
  }, async () => {
    await using server = await testPostgres();
    const database = await server.createDatabase();
    await using directory = await temporaryDirectory();
    await using bench = await openFaultBench({ database, workers: { coder: ["sleep", "1000"] } });
    const dispatcher = bench.startDispatcher();
    await dispatcher.said.until(() => has(dispatcher, /^pass default leads/));
    const first = (await bench.store.createTask({ title: "before", assignee: "coder" }, ME)).task.id;
    await vi.waitFor(() => expect(dispatcher.lines).toContain(`spawned ${first}`), LIMIT);
    await using writers = startWriters(database, { count: 4, directory: directory.path });
    const completed = async () => (await writers.notes()).filter(([kind]) => kind === "completed").length;
    await vi.waitFor(async () => expect(await completed()).toBeGreaterThan(20), LIMIT);
    for (let round = 0; round < 2; round += 1) {
      await server.restart();
      const before = await completed();
      await vi.waitFor(async () => expect(await completed()).toBeGreaterThan(before + 10), LIMIT);
    }
    await writers.killAll();
    const { task } = await bench.store.createTask({ title: "after", assignee: "coder" }, ME);
    await vi.waitFor(() => expect(dispatcher.lines).toContain(`spawned ${task.id}`), LIMIT);
    const notes = await writers.notes();
    const errors = new Set(notes.filter(([kind]) => kind === "error" || kind === "untyped").map(([, code]) => code));
    expect([...errors].filter((code) => !["board-unavailable", "move-refused"].includes(code ?? ""))).toEqual([]);
    expect(await findLost(bench.store, notes)).toEqual([]);
    expect(await bench.store.check()).toEqual([]);
  });

  test("K25 that can only be read refuses with a typed error", { timeout: POSTGRES_LIMIT_MS }, async () => {
    await using server = await testPostgres();
    const database = await server.createDatabase();
    await using store = await openStore(database);
    await using control = await openStore(database);
    const { default: pg } = await import("pg");
    const client = new pg.Client({ connectionString: database });
    await client.connect();
    await client.query("alter database board1 set default_transaction_read_only = on");
    await expect(openStore(database)).rejects.toMatchObject(REFUSAL);
    await client.query("set default_transaction_read_only = off");
    await client.query("alter database board1 set default_transaction_read_only = off");
    await client.end();
    expect((await store.createTask({ title: "after" }, ME)).created).toBe(true);
    expect(await control.check()).toEqual([]);
  });
});
