import { existsSync } from "node:fs";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { findProcess } from "../../src/base/process-tree.ts";
import { boardFiles } from "../../src/board/files.ts";
import type { Status } from "../../src/board/transitions.ts";
import { DISPATCHER, recordOf } from "../../src/dispatcher/launcher.ts";
import { type FaultBench, type FaultBenchOptions, openFaultBench } from "./bench.ts";
import { describeDatabases } from "./describe-databases.ts";

const LIMIT = { timeout: 60_000, interval: 50 };
const TEST = { timeout: 120_000 };
const ME = { by: "me" };
/** A dispatcher that was killed right then; what a person revokes is left to that person for half a minute. */
const REVOKED = { by: `${DISPATCHER}before`, reason: "reclaimed" };
const VERBS = join(import.meta.dirname, "verbs-worker.ts");
const MIB = 1024 * 1024;

/** A board on which each task of `coder` runs this. */
async function openWith(command: readonly string[], options: Omit<FaultBenchOptions, "workers"> = {}): Promise<FaultBench> {
  const bench = await openFaultBench({ ...options, workers: { coder: command } });
  bench.startDispatcher();
  return bench;
}

async function add({ store, home }: FaultBench, body = ""): Promise<{ id: string; file(name: string): string }> {
  const { id } = (await store.createTask({ title: "work", body, assignee: "coder" }, ME)).task;
  const workspace = boardFiles(home).workspace("default", id);
  return { id, file: (name) => join(workspace, name) };
}

/** The whole lines of a file, when there are so many. */
async function lines(path: string, count = 1): Promise<string[]> {
  return await vi.waitFor(async () => {
    const found = (await readFile(path, "utf8")).split("\n").slice(0, -1);
    expect(found.length).toBeGreaterThanOrEqual(count);
    return found;
  }, LIMIT);
}

async function untilStatus({ store }: FaultBench, id: string, status: Status): Promise<void> {
  await vi.waitFor(async () => expect((await store.getTask(id)).status).toBe(status), LIMIT);
}

const alive = (pids: readonly string[]) => pids.filter((pid) => findProcess(Number(pid)) !== null);

describe("a worker under a real dispatcher", () => {
  test("K18 K19 that ignores TERM is dead before the next one begins", TEST, async () => {
    await using bench = await openWith(["sh", "-c", "trap '' TERM; echo $$ >>pids; while :; do sleep 1; done"]);
    const { id, file } = await add(bench);
    await lines(file("pids"));
    const [run] = await bench.store.runs({ task: id });
    await bench.store.revoke(run?.id ?? 0, REVOKED);
    const [first = "", second = ""] = await lines(file("pids"), 2);
    expect(alive([first, second])).toEqual([second]);
  });

  test("K18 K20 that forks away and fails leaves nothing behind, each time", TEST, async () => {
    const away =
      "setsid sh -c '(sh -c \"echo \\$\\$ >>away; exec sleep 1000\" &)'; while [ $(wc -l <away) -lt $(wc -l <tries) ]; do :; done";
    await using bench = await openWith(["sh", "-c", `echo $$ >>tries; : >>away; ${away}; exit 3`]);
    const { id, file } = await add(bench);
    await untilStatus(bench, id, "blocked");
    const left = await lines(file("away"), 2);
    expect(left).toHaveLength(2);
    expect(alive(left)).toEqual([]);
    expect((await bench.store.runs({ task: id })).map(({ outcome }) => outcome)).toEqual(["crashed", "crashed"]);
  });

  test.each(["block", "complete"] as const)(
    "K18 that goes on after its last word (%s) and outlives its supervisor is ended",
    TEST,
    async (word) => {
      await using bench = await openWith(["sh", "-c", "trap '' TERM; echo $$ $HOLDFAST_RUN_TOKEN >>begins; while :; do sleep 1; done"]);
      const { id, file } = await add(bench);
      const [pid = "", token = ""] = (await lines(file("begins")))[0]?.split(" ") ?? [];
      const [run] = await bench.store.runs({ task: id });
      if (word === "block") await bench.store.block(id, { reason: "a question" }, { token });
      else await bench.store.complete(id, {}, { token });
      process.kill((run && recordOf(run)?.supervisor.pid) ?? 0, "SIGKILL");
      await vi.waitFor(() => expect(alive([pid])).toEqual([]), LIMIT);
    },
  );

  test("K20 that exits 0 without a word three times is given up, and the reason is told", TEST, async () => {
    await using bench = await openWith(["sh", "-c", "echo nothing to say"]);
    const { id } = await add(bench);
    await untilStatus(bench, id, "blocked");
    expect(await bench.store.getTask(id)).toMatchObject({ blocked: { kind: "gave_up" } });
    expect((await bench.store.runs({ task: id })).map(({ outcome }) => outcome)).toEqual(Array(3).fill("protocol_violation"));
    const kinds = (await bench.store.events({ task: id })).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "gave_up")).toHaveLength(1);
  });

  test("K27 that floods its log with 1 GiB costs 4 MiB of disk and next to no memory", TEST, async () => {
    const flood = "echo >begun; while [ ! -e go ]; do sleep 0.1; done; head -c 1073741824 /dev/zero; echo the end; echo >over; sleep 1000";
    await using bench = await openWith(["sh", "-c", flood]);
    const { id, file } = await add(bench);
    await lines(file("begun"));
    const [run] = await bench.store.runs({ task: id });
    const supervisor = (run && recordOf(run)?.supervisor.pid) ?? 0;
    const before = await memory(supervisor, "VmRSS");
    await writeFile(file("go"), "");
    await lines(file("over"));
    expect((await memory(supervisor, "VmHWM")) - before).toBeLessThan(100 * MIB);
    const logs = boardFiles(bench.home).logs("default");
    const sizes = await Promise.all((await readdir(logs)).map(async (name) => (await stat(join(logs, name))).size));
    expect(sizes).toHaveLength(2);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2 * MIB);
    await vi.waitFor(async () => expect(await readFile(boardFiles(bench.home).log("default", id), "utf8")).toContain("the end"), LIMIT);
  });
});

describeDatabases((database) => {
  const open = async (what: string) => openWith([process.execPath, VERBS, what], { database: await database() });

  test("K17 K29 a worker that completes twice is heard once, and says nothing else after that", TEST, async () => {
    await using bench = await open("twice");
    const { id, file } = await add(bench);
    expect(await lines(file("answers"), 3)).toEqual(["accepted", "accepted", "claim-lost"]);
    expect(await bench.store.getTask(id)).toMatchObject({ status: "done" });
    expect(await bench.store.runs({ task: id })).toMatchObject([{ outcome: "completed" }]);
    expect((await bench.store.events({ task: id })).filter(({ kind }) => kind === "completed")).toHaveLength(1);
  });

  test("K17 K29 a worker cannot touch the task of another with its own token", TEST, async () => {
    await using bench = await open("foreign");
    const other = (await bench.store.createTask({ title: "another's" }, ME)).task.id;
    const claim = await bench.store.claim(other, { by: "ada", as: "person" });
    const { id, file } = await add(bench, other);
    expect(await lines(file("answers"), 4)).toEqual(["claim-lost", "claim-lost", "claim-lost", "accepted"]);
    expect(await bench.store.getTask(other)).toMatchObject({ status: "running" });
    expect(await bench.store.comments(other)).toEqual([]);
    expect(await bench.store.getTask(id)).toMatchObject({ status: "done" });
    expect((await bench.store.complete(other, {}, { token: claim.token })).status).toBe("done");
  });

  test("K17 K18 the token of a run that was taken away is worth nothing to the next one", TEST, async () => {
    await using bench = await open("old token");
    const { id, file } = await add(bench);
    await vi.waitFor(() => expect(existsSync(file("token"))).toBe(true), LIMIT);
    const [run] = await bench.store.runs({ task: id });
    await bench.store.revoke(run?.id ?? 0, REVOKED);
    expect(await lines(file("answers"), 4)).toEqual(["claim-lost", "claim-lost", "claim-lost", "accepted"]);
    await untilStatus(bench, id, "done");
    expect((await bench.store.runs({ task: id })).map(({ outcome }) => outcome)).toEqual(["reclaimed", "completed"]);
  });
});

async function memory(pid: number, field: "VmRSS" | "VmHWM"): Promise<number> {
  const kib = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) * 1024;
}
