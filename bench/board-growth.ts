/** @module How the time of one operation grows with the number of tasks on a board in a file of SQLite. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { openDispatching } from "../src/app/dispatching.ts";
import { fillFinished } from "./helpers/fill.ts";
import { BOARD, type KanbanHome, PROFILE } from "./helpers/kanban-home.ts";
import { plot } from "./helpers/plot.ts";
import { openWaitingBoard } from "./helpers/waiting-board.ts";
import { type Benchmark, type Timing, toTiming } from "./measure.ts";
import { renderTable } from "./table.ts";

const SIZES = [1000, 10_000, 100_000, 1_000_000];
const WAITING = 100;
const ROUNDS = 25;
const TASKS_PER_ROUND = 40;
const PASSES_PER_ROUND = 8;
const BY = { by: "bench" };
const OPERATIONS = ["create", "claim", "complete", "pass"] as const;

type Operation = (typeof OPERATIONS)[number];

export const benchmark: Benchmark = {
  summary: `one operation at a time on boards of ${SIZES.map((size) => size.toLocaleString("en")).join(", ")} tasks, turn by turn; ${WAITING} tasks wait on each, the rest is finished`,
  async run() {
    await using stack = new AsyncDisposableStack();
    const boards: Board[] = [];
    for (const size of SIZES) boards.push(await openBoard(size, stack));
    for (let round = -2; round < ROUNDS; round += 1)
      for (const board of round % 2 === 0 ? boards : boards.toReversed()) await measureRound(board, { counts: round >= 0 });
    return { timings: [], notes: [...tableOf(boards), ...writePlot(boards)] };
  },
};

interface Board {
  readonly size: number;
  readonly store: KanbanHome["store"];
  readonly pass: () => Promise<unknown>;
  readonly samples: Readonly<Record<Operation, number[]>>;
}

async function openBoard(size: number, stack: AsyncDisposableStack): Promise<Board> {
  const { store, database, app } = stack.use(await openWaitingBoard(WAITING));
  await fillFinished(store, database, size - WAITING);
  const dispatching = await openDispatching(app, { stays: false });
  stack.defer(() => dispatching.close());
  return {
    size,
    store,
    pass: () => dispatching.dispatcher.runOnce(BOARD),
    samples: { create: [], claim: [], complete: [], pass: [] },
  };
}

/** What it makes it finishes, so as many wait after it as before. */
async function measureRound({ store, pass, samples }: Board, { counts }: { counts: boolean }): Promise<void> {
  const timed = async <T>(operation: Operation, action: () => Promise<T>): Promise<T> => {
    const startedAt = performance.now();
    const result = await action();
    if (counts) samples[operation].push(performance.now() - startedAt);
    return result;
  };
  for (let index = 0; index < PASSES_PER_ROUND; index += 1) await timed("pass", pass);
  const ids: string[] = [];
  for (let index = 0; index < TASKS_PER_ROUND; index += 1) {
    const task = { title: `task ${index}`, body: "what is to be done", board: BOARD, assignee: PROFILE };
    ids.push((await timed("create", () => store.createTask(task, BY))).task.id);
  }
  for (const id of ids) {
    const { token } = await timed("claim", () => store.claim(id, BY));
    await timed("complete", () => store.complete(id, { summary: "done" }, { token }));
  }
}

function timingsOf({ samples }: Board): Record<Operation, Timing> {
  return Object.fromEntries(OPERATIONS.map((operation) => [operation, toTiming(operation, samples[operation])])) as Record<
    Operation,
    Timing
  >;
}

function tableOf(boards: readonly Board[]): string[] {
  const rows = boards.map((board) => [
    `${board.size.toLocaleString("en")} tasks`,
    ...Object.values(timingsOf(board)).flatMap(({ p50, p95, p99 }) => [p50, p95, p99].map((time) => time.toFixed(2))),
  ]);
  const head = ["ms", ...OPERATIONS.flatMap((operation) => [`${operation} p50`, "p95", "p99"])];
  return renderTable([head, ...rows])
    .split("\n")
    .map((line) => line.trim());
}

function writePlot(boards: readonly Board[]): string[] {
  const path = process.env.HOLDFAST_BENCH_PLOT;
  if (path === undefined) return ["HOLDFAST_BENCH_PLOT=FILE.svg draws this"];
  const series = OPERATIONS.map((operation) => ({
    label: operation === "pass" ? "a dispatcher's pass" : operation,
    points: boards.map((board) => ({ x: board.size, y: timingsOf(board)[operation].p50 })),
  }));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, plot(series, { title: "One operation on a board in SQLite", xLabel: "tasks on the board", yLabel: "ms (p50)" }));
  return [`drawn in ${path}`];
}
