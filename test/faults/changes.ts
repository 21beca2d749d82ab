/**
 * @module Histories of workers in sandboxes while the configuration changes: between any two passes other backends, prefixes, engines and
 * names of profiles count, and supervisors and engines die. Workers never end by themselves, so two of one task are seen.
 */
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type App, createApp } from "../../src/app/create-app.ts";
import { dispatchOnce } from "../../src/app/operations/dispatch-once.ts";
import { profileRename } from "../../src/app/operations/profile-rename.ts";
import { taskReclaim } from "../../src/app/operations/task-reclaim.ts";
import { systemClock } from "../../src/base/clock.ts";
import { HoldfastError, systemCode } from "../../src/base/errors.ts";
import { randomId } from "../../src/base/ids.ts";
import { killTree } from "../../src/base/process-tree.ts";
import { boardFiles } from "../../src/board/files.ts";
import { openStore, type Store } from "../../src/board/store.ts";
import { recordOf } from "../../src/dispatcher/launcher.ts";
import { COMPILE_CACHE } from "../helpers/cli.ts";
import type { PrivateEngine, TestEngine } from "../helpers/engine.ts";
import { engineVariables } from "../helpers/engine-harness.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { createRandom, type Random } from "./random.ts";

const CHANGES = ["backend", "prefix", "engine", "profile", "sandbox"] as const;
const STRIKES = ["kill supervisor", "kill supervisor", "kill worker", "last word", "engine dies", "nothing"] as const;
const ME = { by: "changes" };
const TASKS = 2;
const POLL_MS = 50;
const BEGIN_LIMIT_MS = 60_000;
/** What cannot be ended because its engine is away waits, however often it is looked at. */
const PASSES = { away: 2, there: 10 };

export interface ChangesOptions {
  readonly rounds: number;
  /** Docker, and Podman. */
  readonly engines: readonly TestEngine[];
  /** One more Docker, which dies and comes back. */
  readonly mortal: PrivateEngine;
}

export interface ChangesReport {
  readonly seed: number;
  /** Tasks with workers of two runs that live at once. */
  readonly violations: readonly string[];
  /** Tasks that got no worker although every engine answered. */
  readonly stuck: readonly string[];
  /** Workers that live although their tasks were taken from them. */
  readonly left: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

/**
 * From the host, processes in containers on this machine can be seen. So that it is the sandbox that ends them, the one that counts has left
 * the tree, and its variables but for the token. It is known by its last two arguments.
 */
const WORKER = `
  pid=$(env -i TOKEN="$HOLDFAST_RUN_TOKEN" /bin/sh -c '(setsid sh -c "$1" "$2" "$3" >/dev/null 2>&1 & echo $!)' sh \
    "trap '' TERM; while :; do sleep 0.2; done" "$0" "$HOLDFAST_TASK.$HOLDFAST_RUN")
  while kill -0 "$pid"; do sleep 0.2; done
  exit 3`;

interface Worker {
  readonly pid: number;
  readonly task: string;
  readonly run: number;
}

interface History {
  readonly options: ChangesOptions;
  readonly random: Random;
  readonly store: Store;
  readonly home: string;
  readonly tasks: readonly string[];
  readonly counts: Record<string, number>;
  readonly prefixes: Set<string>;
  readonly app: () => Promise<App & AsyncDisposable>;
  readonly living: () => Worker[];
  settings: { backend: string; prefix: string; sandbox: string };
  engine: TestEngine;
  profile: string;
  away: boolean;
}

export async function runChanges(options: ChangesOptions): Promise<ChangesReport> {
  const random = createRandom();
  await using directory = await temporaryDirectory();
  const home = join(directory.path, "home");
  const user = join(directory.path, "user");
  const files = boardFiles(home);
  for (const path of [files.root, user, join(home, "profiles/coder")]) await mkdir(path, { recursive: true });
  const name = `changes-${randomId(8)}`;
  await using store = await openStore(files.database);
  const tasks: string[] = [];
  for (let count = 0; count < TASKS; count += 1) {
    tasks.push((await store.createTask({ title: "history", assignee: "coder" }, ME)).task.id);
  }
  const history: History = {
    options,
    random,
    store,
    home,
    tasks,
    counts: {},
    prefixes: new Set(["holdfast"]),
    settings: { backend: "docker", prefix: "holdfast", sandbox: "task" },
    engine: options.mortal,
    profile: "coder",
    away: false,
    living: () => workersCalled(name),
    async app() {
      const { TERMINAL_BACKEND: _, ...variables } = engineVariables(history.engine);
      const environment = {
        PATH: process.env.PATH ?? "",
        HOME: user,
        HOLDFAST_HOME: home,
        NODE_COMPILE_CACHE: COMPILE_CACHE,
        ...variables,
      };
      const app = await createApp({ environment, cwd: directory.path, program: "the test" });
      return { ...app, [Symbol.asyncDispose]: async () => void (await app.close()) };
    },
  };
  const kanban = { failure_limit: 1000, retry_backoff_seconds: 0, rate_limit_cooldown_seconds: 0, worker_grace_seconds: 0 };
  await writeFile(join(home, "config.yaml"), JSON.stringify({ kanban }));
  await configure(history, name);
  const found: { violations: string[]; stuck: string[] } = { violations: [], stuck: [] };
  try {
    for (let round = 0; round < options.rounds; round += 1) {
      await letBegin(history, found);
      await change(history, name);
      const unblock = await strike(history);
      // Only between two runs a profile may get another name.
      if (unblock.length > 0) await rename(history);
      if (random.next() < 0.5) await change(history, name);
      if (random.next() < 0.5) await comeBack(history);
      for (const task of unblock) await store.unblock(task, ME);
    }
    await comeBack(history);
    await letBegin(history, found);
    return { seed: random.seed, ...found, left: await endAll(history), counts: history.counts };
  } finally {
    await comeBack(history);
    await killTree({ variable: "HOLDFAST_HOME", value: home }, { clock: systemClock, graceMs: 0 });
    for (const { pid } of history.living()) send(pid, "SIGKILL");
    await removeContainers(history);
  }
}

/** Passes until each task has a worker, and none has two. */
async function letBegin(history: History, { violations, stuck }: { violations: string[]; stuck: string[] }): Promise<void> {
  const most = history.away ? PASSES.away : PASSES.there;
  let idle: string[] = history.tasks.slice();
  for (let pass = 0; pass < most && idle.length > 0; pass += 1) {
    await using app = await history.app();
    await dispatchOnce.run(app, { dryRun: false });
    await startsSettled(history);
    violations.push(...doubles(history.living()));
    idle = history.tasks.filter((task) => !history.living().some((worker) => worker.task === task));
  }
  if (history.away) return;
  for (const id of idle) {
    const { task, openRun } = await history.store.whyFacts(id);
    const worker = openRun && recordOf(openRun);
    stuck.push(JSON.stringify({ id, status: task.status, error: task.lastError, revoked: openRun?.revokedAt, address: worker?.address }));
  }
}

/** Until each open run has begun its worker, or has told that it could not. */
async function startsSettled({ store, living }: History): Promise<void> {
  const limit = performance.now() + BEGIN_LIMIT_MS;
  const starting = async () => {
    const alive = living();
    const open = await store.openRuns("default");
    return open.some((run) => run.revokedAt === null && run.worker?.exit === undefined && !alive.some((worker) => worker.run === run.id));
  };
  while ((await starting()) && performance.now() < limit) await pause(POLL_MS);
}

function doubles(living: readonly Worker[]): string[] {
  const runs = Map.groupBy(living, ({ task }) => task);
  return [...runs].flatMap(([task, workers]) => {
    const numbers = [...new Set(workers.map(({ run }) => run))];
    return numbers.length > 1 ? [`${task}: runs ${numbers.join(" and ")} live at once`] : [];
  });
}

async function change(history: History, name: string): Promise<void> {
  const { random, settings, options } = history;
  const what = random.pick(CHANGES);
  count(history, what);
  if (what === "profile") return await rename(history);
  if (what === "engine") {
    history.engine = random.pick([...options.engines, options.mortal]);
    return;
  }
  if (what === "backend") settings.backend = settings.backend === "docker" ? "local" : "docker";
  if (what === "sandbox") settings.sandbox = settings.sandbox === "task" ? "profile" : "task";
  if (what === "prefix") settings.prefix = `p${random.whole(1000)}`;
  history.prefixes.add(settings.prefix);
  await configure(history, name);
}

async function configure({ home, profile, settings: { backend, prefix, sandbox } }: History, name: string): Promise<void> {
  // What was in a container may go on anywhere, so that nothing but its place is what a task waits for.
  const worker = { command: ["sh", "-c", WORKER, name], sandbox, accepts_from_sandboxes: true };
  const config = { terminal: { backend, label_prefix: prefix }, worker };
  await writeFile(join(home, "profiles", profile, "config.yaml"), JSON.stringify(config));
}

/** Refused while a run is open, and where something cannot be asked. */
async function rename(history: History): Promise<void> {
  const to = `coder${history.random.whole(1_000_000)}`;
  await using app = await history.app();
  try {
    await profileRename.run(app, { from: history.profile, to, removeSandboxes: true });
    history.profile = to;
    count(history, "renamed");
  } catch (error) {
    if (!HoldfastError.isInstance(error)) throw error;
    count(history, `not renamed: ${error.code}`);
  }
}

/** @returns the tasks that somebody lets go on afterwards */
async function strike(history: History): Promise<string[]> {
  const { random, store, options } = history;
  const what = random.pick(STRIKES);
  count(history, what);
  if (what === "engine dies" && !history.away) {
    history.away = true;
    await options.mortal.crash();
  }
  // Its supervisor would wait for it a while.
  const supervisors = what === "kill supervisor" || what === "last word" || what === "engine dies";
  const word: string[] = [];
  for (const { pid, task, run } of history.living()) {
    if (what === "kill worker") send(pid, "SIGKILL");
    if (what === "last word" && (await block(store, { pid, task }))) word.push(task);
    const record = (await store.runs({ task })).filter(({ id }) => id === run).map(recordOf)[0];
    if (supervisors && record) send(record.supervisor.pid, "SIGKILL");
  }
  return word;
}

async function block(store: Store, { pid, task }: Pick<Worker, "pid" | "task">): Promise<boolean> {
  const token = /(?:^|\0)TOKEN=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, "utf8"))?.[1] ?? "";
  try {
    await store.block(task, { reason: "so planned" }, { token });
    return true;
  } catch (error) {
    // Its run was revoked before, and it could not be ended.
    if (HoldfastError.isInstance(error) && error.code === "claim-lost") return false;
    throw error;
  }
}

/** Its containers are stopped by that. */
async function comeBack(history: History): Promise<void> {
  if (!history.away) return;
  history.away = false;
  await history.options.mortal.start();
}

/** The workers that still live when all tasks were taken from them. */
async function endAll({ app: open, store, living }: History): Promise<string[]> {
  await using app = await open();
  for (const { task } of await store.openRuns("default")) await taskReclaim.run(app, { id: task, block: true });
  return living().map(({ task, run }) => `${task}.${run}`);
}

function workersCalled(name: string): Worker[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => {
      const [which, own] = argumentsOf(entry).slice(0, -1).reverse();
      const [task = "", run = ""] = (which ?? "").split(".");
      return own === name ? [{ pid: Number(entry), task, run: Number(run) }] : [];
    });
}

function argumentsOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch (error) {
    // It has ended meanwhile.
    if (["ENOENT", "ESRCH"].includes(systemCode(error) ?? "")) return [];
    throw error;
  }
}

async function removeContainers({ options: { engines, mortal }, prefixes, home }: History): Promise<void> {
  const install = readFileSync(join(home, "install-id"), "utf8").trim();
  for (const engine of [...engines, mortal]) {
    const found = await Promise.all([...prefixes].map((prefix) => engine.containers(`${prefix}-install=${install}`)));
    const ids = [...new Set(found.flat().map(({ id }) => id))];
    if (ids.length > 0) await engine.run(["rm", "-f", "-v", ...ids]);
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (systemCode(error) !== "ESRCH") throw error;
  }
}

function count({ counts }: History, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
