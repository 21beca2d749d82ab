import { expect, test, vi } from "vitest";
import { findProcess } from "../../src/base/process-tree.ts";
import { recordOf } from "../../src/dispatcher/launcher.ts";
import { type DispatcherHandle, type FaultBench, openFaultBench } from "./bench.ts";
import { describeDatabases } from "./describe-databases.ts";

const LIMIT = { timeout: 60_000, interval: 50 };
const TEST = { timeout: 120_000 };
const ME = { by: "me" };
const WORKERS = { coder: ["sleep", "1000"] };

const leads = ({ lines }: DispatcherHandle) => lines.includes("pass default leads");
const waits = ({ lines }: DispatcherHandle) => lines.includes("pass default waits");
const spawnedBy = ({ lines }: DispatcherHandle) => lines.filter((line) => line.startsWith("spawned ")).map((line) => line.slice(8));

async function lead({ startDispatcher }: FaultBench): Promise<[leader: DispatcherHandle, second: DispatcherHandle]> {
  const leader = startDispatcher();
  await leader.said.until(() => leads(leader));
  const second = startDispatcher();
  await second.said.until(() => waits(second));
  return [leader, second];
}

async function add({ store }: FaultBench): Promise<string> {
  return (await store.createTask({ title: "next", assignee: "coder" }, ME)).task.id;
}

describeDatabases((database) => {
  test("K24 when the leader is killed, the second dispatcher starts the next ready task", TEST, async () => {
    await using bench = await openFaultBench({ database: await database(), workers: WORKERS });
    const [leader, second] = await lead(bench);
    const before = await add(bench);
    await leader.said.until(() => spawnedBy(leader).includes(before));
    expect(spawnedBy(second)).toEqual([]);
    const died = performance.now();
    await leader.end("SIGKILL");
    const after = await add(bench);
    await vi.waitFor(() => expect(spawnedBy(second)).toContain(after), LIMIT);
    console.log(`K24 the second took over ${Math.round(performance.now() - died)} ms after the leader was killed`);
    // The worker of the dead one goes on under the same run.
    expect(await bench.store.runs({ task: before })).toMatchObject([{ endedAt: null }]);
    expect(spawnedBy(second)).toEqual([after]);
  });

  test("K24 a lead from before the clock was set back does not outlive its leader", TEST, async () => {
    await using bench = await openFaultBench({ database: await database(), workers: WORKERS });
    await bench.setClock(3_600_000);
    const [leader, second] = await lead(bench);
    process.kill(leader.pid, "SIGSTOP");
    await bench.setClock(0);
    await leader.end("SIGKILL");
    const after = await add(bench);
    await vi.waitFor(() => expect(spawnedBy(second)).toContain(after), LIMIT);
  });

  test("K24 K18 a leader that was paused and goes on starts nothing that its successor has", TEST, async () => {
    await using bench = await openFaultBench({ database: await database(), workers: WORKERS });
    const [leader, second] = await lead(bench);
    process.kill(leader.pid, "SIGSTOP");
    const tasks = await Promise.all([add(bench), add(bench)]);
    await vi.waitFor(() => expect(spawnedBy(second).toSorted()).toEqual(tasks.toSorted()), LIMIT);
    const later = await add(bench);
    process.kill(leader.pid, "SIGCONT");
    const passes = () => leader.lines.filter((line) => line === "pass default waits").length;
    await vi.waitFor(() => expect(passes()).toBeGreaterThan(0), LIMIT);
    await vi.waitFor(() => expect(spawnedBy(second)).toContain(later), LIMIT);
    // It looks again and again, at what is there now.
    const seen = passes();
    await vi.waitFor(() => expect(passes()).toBeGreaterThan(seen), LIMIT);
    expect(spawnedBy(leader)).toEqual([]);
    const runs = await Promise.all([...tasks, later].map((task) => bench.store.runs({ task })));
    expect(runs.map((each) => each.length)).toEqual([1, 1, 1]);
    for (const [run] of runs) expect(findProcess((run && recordOf(run)?.supervisor.pid) ?? 0)).not.toBeNull();
  });
});
