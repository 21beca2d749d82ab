/** @module Random histories of tasks: each has a plan for its workers and faults that meet them, and all share dispatchers that fare no better. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { HoldfastError, systemCode } from "../../src/base/errors.ts";
import { findProcess } from "../../src/base/process-tree.ts";
import { recordOf } from "../../src/dispatcher/launcher.ts";
import { type DispatcherHandle, type FaultBench, openFaultBench } from "./bench.ts";
import { createRandom, type Random } from "./random.ts";

const ACTS = ["complete", "block", "exit0", "exit3", "exit75", "hang", "hang", "stubborn", "fork"] as const;
const STRIKES = ["kill worker", "kill supervisor", "pause worker", "pause supervisor", "kill both", "revoke"] as const;
const BLOWS = ["kill dispatcher", "pause dispatcher", "second dispatcher", "clock forward", "clock back"] as const;
const POLL_MS = 30;
const LEAD_MS = 7000;
const JUMP_MS = 60_000;
const ME = { by: "chaos" };

export interface ChaosOptions {
  readonly histories: number;
  /** So long at most the dispatchers and the clock are not left alone, if not every task has begun by then. */
  readonly chaosMs: number;
  readonly database?: string | undefined;
  readonly limitMs: number;
}

export interface ChaosReport {
  readonly seed: number;
  /** Pairs of live workers of one task. */
  readonly violations: readonly string[];
  readonly lost: readonly string[];
  readonly faults: readonly string[];
  readonly left: readonly number[];
  /** Runs that began more than one worker. */
  readonly doubled: readonly string[];
  /** Marks of supervisors that had more than one run. */
  readonly shared: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

interface Chaos {
  readonly bench: FaultBench;
  readonly random: Random;
  readonly directory: string;
  readonly tasks: string[];
  readonly counts: Record<string, number>;
  readonly dispatchers: Set<DispatcherHandle>;
  readonly endings: Promise<unknown>[];
  /** Tasks that have begun. */
  readonly begun: Set<string>;
  clock: number;
  highest: number;
  calm: boolean;
}

export async function runChaos({ histories, chaosMs, database, limitMs }: ChaosOptions): Promise<ChaosReport> {
  const random = createRandom();
  const worker = join(import.meta.dirname, "worker.sh");
  await using bench = await openFaultBench({
    database,
    workers: { coder: ["sh", worker] },
    settings: { maxInProgress: 16, failureLimit: 4 },
  });
  const directory = join(bench.home, "faults");
  const chaos: Chaos = {
    bench,
    random,
    directory,
    tasks: [],
    counts: {},
    dispatchers: new Set(),
    endings: [],
    begun: new Set(),
    clock: 0,
    highest: 0,
    calm: false,
  };
  for (const name of ["asks", "tasks"]) await mkdir(join(directory, name), { recursive: true });
  for (let index = 0; index < histories; index += 1) await makeHistory(chaos);
  chaos.dispatchers.add(bench.startDispatcher());
  const over = new AbortController();
  const hands = Promise.all([beHands(chaos, over.signal), strikeWorkers(chaos, over.signal)]);
  try {
    await disturb(chaos, chaosMs);
    chaos.counts.begun = chaos.begun.size;
    await calmDown(chaos);
    const lost = await settle(chaos, limitMs);
    // Whose supervisor was killed after the last word is ended by a dispatcher.
    await workersGone(chaos, limitMs);
    await Promise.all([...chaos.dispatchers].map((each) => each.end("SIGTERM")));
    const left = await nothingLeft(bench, limitMs);
    return { seed: random.seed, lost, left, ...(await evidence(chaos)), faults: await bench.store.check(), counts: chaos.counts };
  } finally {
    over.abort();
    await hands;
  }
}

async function makeHistory({ bench, random, directory, tasks }: Chaos): Promise<void> {
  const { task } = await bench.store.createTask({ title: "history", assignee: "coder" }, ME);
  const acts = Array.from({ length: 1 + random.whole(2) }, () => (random.next() < 0.02 ? "linger" : random.pick(ACTS)));
  const place = join(directory, "tasks", task.id);
  await mkdir(place);
  await writeFile(join(place, "plan"), `${acts.join("\n")}\n`);
  tasks.push(task.id);
}

/** Says for workers what they have asked for, with their own token: it is the words that count, not the time a program takes to start. */
async function beHands({ bench: { store }, directory, random, counts }: Chaos, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    for (const name of (await readdir(join(directory, "asks"))).filter((each) => !each.startsWith("."))) {
      const path = join(directory, "asks", name);
      const [verb = "", token = ""] = (await readFile(path, "utf8")).trim().split(" ");
      const task = name.split(".")[0] ?? "";
      try {
        if (verb === "block") await store.block(task, { reason: "so planned" }, { token });
        else await store.complete(task, {}, { token });
        count(counts, verb);
        // Somebody wants it to go on while its worker may still live.
        if (verb === "block" && random.next() < 0.7) await store.unblock(task, ME);
      } catch (error) {
        if (!HoldfastError.isInstance(error)) throw error;
        count(counts, `${verb}: ${error.code}`);
      }
      await rm(path);
    }
    await pause(POLL_MS);
  }
}

/** Meets workers with a fault soon after they began. */
async function strikeWorkers(chaos: Chaos, over: AbortSignal): Promise<void> {
  const { directory, random } = chaos;
  let known = 0;
  while (!over.aborted) {
    const begins = await linesOf(join(directory, "begins"));
    for (const line of begins.slice(known)) {
      count(chaos.counts, "begin");
      const [task = "", run = "", pid = ""] = line.split(" ");
      chaos.begun.add(task);
      if (chaos.calm || random.next() < 0.2) continue;
      const strike = random.pick(STRIKES);
      const wait = random.whole(400);
      const held = random.whole(4000);
      chaos.endings.push(pause(wait).then(() => hit(chaos, { strike, task, run: Number(run), pid: Number(pid), held })));
    }
    known = begins.length;
    await pause(POLL_MS);
  }
}

interface Hit {
  readonly strike: (typeof STRIKES)[number];
  readonly task: string;
  readonly run: number;
  readonly pid: number;
  readonly held: number;
}

async function hit({ bench, counts }: Chaos, { strike, task, run, pid, held }: Hit): Promise<void> {
  count(counts, strike);
  if (strike === "revoke") {
    await bench.store.revoke(run, { by: "chaos", reason: "for fun" });
    return;
  }
  const found = (await bench.store.runs({ task })).find(({ id }) => id === run);
  const supervisor = (found && recordOf(found)?.supervisor.pid) ?? 0;
  const marked = new Set(bench.processes());
  const targets = { worker: [pid], supervisor: [supervisor], both: [supervisor, pid] }[strike.split(" ")[1] as "worker"];
  const alive = targets.filter((each) => marked.has(each));
  if (strike.startsWith("kill")) for (const each of alive) send(each, "SIGKILL");
  else await holdBack(alive, held);
}

/**
 * In a process of its own: whoever is paused may be in the middle of a transaction, and then the test waits for the lock, in the thread that
 * would have to let the paused one go on.
 */
async function holdBack(pids: readonly number[], ms: number): Promise<void> {
  if (pids.length === 0) return;
  const script = 'ms=$1; shift; kill -STOP "$@"; sleep "$ms"; kill -CONT "$@"';
  const child = spawn("sh", ["-c", script, "hold-back", String(ms / 1000), ...pids.map(String)], { stdio: "ignore" });
  await once(child, "exit");
}

/** Meets the dispatchers and the clock with faults until the time is over. */
async function disturb(chaos: Chaos, ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (performance.now() < end && chaos.begun.size < chaos.tasks.length) {
    await pause(500 + chaos.random.whole(3000));
    const blow = chaos.random.pick(BLOWS);
    count(chaos.counts, blow);
    const [first] = chaos.dispatchers;
    if (blow === "clock forward") await jump(chaos, chaos.random.whole(JUMP_MS));
    else if (blow === "clock back") await jump(chaos, -chaos.random.whole(Math.min(chaos.clock, JUMP_MS) + 1));
    else if (blow === "second dispatcher" || first === undefined) addDispatcher(chaos, 3);
    else await strikeDispatcher(chaos, first, blow);
  }
}

async function strikeDispatcher(chaos: Chaos, first: DispatcherHandle, blow: "kill dispatcher" | "pause dispatcher"): Promise<void> {
  const { dispatchers, random, endings } = chaos;
  if (blow === "kill dispatcher") {
    dispatchers.delete(first);
    await first.end("SIGKILL");
    addDispatcher(chaos, 1);
  } else {
    endings.push(holdBack([first.pid], random.whole(6000)));
    addDispatcher(chaos, 2);
  }
  // Otherwise most of the time would be spent waiting for its lead to end.
  if (random.next() < 0.8) await jump(chaos, LEAD_MS);
}

/** One more dispatcher, unless there are enough. */
function addDispatcher({ bench, dispatchers }: Chaos, most: number): void {
  if (dispatchers.size < most) dispatchers.add(bench.startDispatcher());
}

async function jump(chaos: Chaos, ms: number): Promise<void> {
  chaos.clock += ms;
  chaos.highest = Math.max(chaos.highest, chaos.clock);
  await chaos.bench.setClock(chaos.clock);
}

/** No fault from now on, and every worker that begins does its work. What waits for a time that was once near gets there. */
async function calmDown(chaos: Chaos): Promise<void> {
  chaos.calm = true;
  await Promise.all(chaos.endings);
  await writeFile(join(chaos.directory, "calm"), "");
  await jump(chaos, chaos.highest - chaos.clock + LEAD_MS);
  if (chaos.dispatchers.size === 0) chaos.dispatchers.add(chaos.bench.startDispatcher());
}

/** The tasks that nothing can be done with any more. */
async function settle({ bench: { store }, counts, tasks }: Chaos, limitMs: number): Promise<string[]> {
  const end = performance.now() + limitMs;
  const unsettled = async () => (await store.listTasks()).filter(({ status }) => status !== "done" && status !== "blocked");
  while ((await unsettled()).length > 0 && performance.now() < end) await pause(200);
  for (const { id, status, blocked } of await store.listTasks()) {
    count(counts, `in the end ${status}`);
    if (status === "blocked") {
      count(counts, `blocked: ${blocked?.kind ?? "by plan"}`);
      await store.complete(id, { summary: "by hand" }, ME);
    }
  }
  const done = new Set((await store.listTasks({ status: "done" })).map(({ id }) => id));
  return tasks.filter((id) => !done.has(id));
}

/** Those who have said their last word may take half a minute to go. */
async function workersGone({ directory, tasks }: Chaos, limitMs: number): Promise<void> {
  const lines = (await Promise.all(tasks.map((task) => linesOf(join(directory, "tasks", task, "pids"))))).flat();
  const workers = lines.map((line) => line.split(" ")).map(([pid = "", startedAt = ""]) => ({ pid: Number(pid), startedAt }));
  const lives = ({ pid, startedAt }: (typeof workers)[number]) => findProcess(pid)?.startedAt === startedAt;
  const end = performance.now() + limitMs;
  while (workers.some(lives) && performance.now() < end) await pause(200);
}

async function nothingLeft(bench: FaultBench, limitMs: number): Promise<number[]> {
  const end = performance.now() + limitMs;
  let left = bench.processes();
  while (left.length > 0 && performance.now() < end) {
    await pause(200);
    left = bench.processes();
  }
  return left;
}

async function evidence({ bench: { store }, directory }: Chaos): Promise<Pick<ChaosReport, "violations" | "doubled" | "shared">> {
  const runs = (await linesOf(join(directory, "begins"))).map((line) => line.split(" ")[1] ?? "");
  const marks = (await store.runs({ board: "default" })).flatMap((run) => recordOf(run)?.mark ?? []);
  return { violations: await linesOf(join(directory, "violations")), doubled: repeated(runs), shared: repeated(marks) };
}

function repeated(values: readonly string[]): string[] {
  return values.filter((value, index) => values.indexOf(value) !== index);
}

async function linesOf(path: string): Promise<string[]> {
  if (!existsSync(path)) return [];
  return (await readFile(path, "utf8")).split("\n").slice(0, -1);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (systemCode(error) !== "ESRCH") throw error;
  }
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
