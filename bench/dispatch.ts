/** @module From a task that another process makes to the process of its worker, through a real `holdfast kanban dispatch --watch`. */
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { BOARD, type KanbanHome, openKanbanHome, PROFILE } from "./helpers/kanban-home.ts";
import { type Benchmark, percentile, toTiming } from "./measure.ts";

const SAMPLES = 200;
const AT_ONCE = 4;
const WARMUPS = 5;
/** Long enough for a dispatcher to be at rest again. */
const REST_MS = 300;
const START_LIMIT_MS = 30_000;
const BY = { by: "bench" };
/** When it started, and what is needed to end it. */
const WORKER = `printf '%s %s %s %s\\n' "$(date +%s%N)" $$ "$HOLDFAST_TASK" "$HOLDFAST_RUN_TOKEN" >>"$BENCH_STARTS"; exec sleep 300`;

export const benchmark: Benchmark = {
  summary: "from a task made by another process to its worker process, which writes down the time, against starting that from Node",
  async run() {
    await using stack = new AsyncDisposableStack();
    const starts = stack.use(openStarts());
    const home = stack.use(await openKanbanHome({ worker: { command: ["sh", "-c", WORKER], env: { BENCH_STARTS: starts.path } } }));
    await home.dispatch();
    await home.led();
    const bench = { home, starts };
    for (let index = 0; index < WARMUPS; index += 1) await work(bench, 1);
    const [bare, alone, row, group]: number[][] = [[], [], [], []];
    const last: number[] = [];
    for (let index = 0; index < SAMPLES; index += 1) {
      await pause(REST_MS);
      bare?.push(await startBare(starts, index));
      alone?.push(...(await work(bench, 1)));
    }
    for (let index = 0; index < SAMPLES; index += 1) row?.push(...(await work(bench, 1)));
    for (let index = 0; index < SAMPLES / AT_ONCE; index += 1) {
      await pause(REST_MS);
      const times = await work(bench, AT_ONCE);
      group?.push(...times);
      last.push(Math.max(...times));
    }
    return {
      timings: [
        toTiming("the worker alone, started from Node", bare ?? []),
        toTiming("one task, the dispatcher at rest", alone ?? []),
        toTiming("one task as soon as the one before is done", row ?? []),
        toTiming(`${AT_ONCE} tasks at once, each`, group ?? []),
        toTiming(`${AT_ONCE} tasks at once, the last of them`, last),
      ],
      notes: [
        `aim: at most 50 ms p50 (${percentile(alone ?? [], 50).toFixed(1)}) and 150 ms p99 (${percentile(alone ?? [], 99).toFixed(1)}), for one task`,
        "times are from the answer of createTask, in whole milliseconds, to the `date` of the worker",
      ],
    };
  },
};

interface Parts {
  readonly home: KanbanHome;
  readonly starts: Starts;
}

/** Makes tasks, waits for their workers, finishes them, and says how long each took to start. */
async function work({ home: { store }, starts }: Parts, count: number): Promise<number[]> {
  const task = { title: "bench", board: BOARD, assignee: PROFILE };
  const made = await store.createTasks(
    Array.from({ length: count }, () => task),
    BY,
  );
  const madeAt = Date.now();
  const times: number[] = [];
  for (const { task: one } of made) {
    const { at, pid, token } = await starts.of(one.id);
    times.push(at - madeAt);
    try {
      await store.complete(one.id, { summary: "started" }, { token });
    } finally {
      process.kill(pid);
    }
  }
  return times;
}

async function startBare(starts: Starts, index: number): Promise<number> {
  const id = `bare-${index}`;
  const env = { PATH: process.env.PATH, HOLDFAST_TASK: id, HOLDFAST_RUN_TOKEN: "none", BENCH_STARTS: starts.path };
  const startedAt = Date.now();
  const child = spawn("sh", ["-c", WORKER], { env, stdio: "ignore", detached: true });
  const { at } = await starts.of(id);
  child.kill();
  return at - startedAt;
}

interface Start {
  readonly at: number;
  readonly pid: number;
  readonly token: string;
}

interface Starts extends Disposable {
  /** The file that workers write to. */
  readonly path: string;
  of(task: string): Promise<Start>;
}

function openStarts(): Starts {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
  const path = join(directory, "starts");
  writeFileSync(path, "");
  const file = openSync(path, "r");
  const found = new Map<string, PromiseWithResolvers<Start>>();
  const entry = (task: string) => {
    const known = found.get(task) ?? Promise.withResolvers<Start>();
    found.set(task, known);
    return known;
  };
  const buffer = Buffer.alloc(65_536);
  let rest = "";
  const read = () => {
    rest += buffer.toString("utf8", 0, readSync(file, buffer));
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [time = "", pid = "", task = "", token = ""] = line.split(" ");
      entry(task).resolve({ at: Number(time) / 1e6, pid: Number(pid), token });
    }
  };
  const watcher = watch(path, read);
  return {
    path,
    async of(task) {
      const limit = pause(START_LIMIT_MS, null, { ref: false });
      const start = await Promise.race([entry(task).promise, limit]);
      if (start === null) throw new Error(`the worker of ${task} did not start within ${START_LIMIT_MS} ms`);
      return start;
    },
    [Symbol.dispose]() {
      watcher.close();
      closeSync(file);
      rmSync(directory, { recursive: true });
    },
  };
}
