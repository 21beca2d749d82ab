/** @module A board, a world of workers, and dispatchers in it. */

import { createLogger, type LogRecord } from "../../src/base/log.ts";
import type { NewTask } from "../../src/board/create-task.ts";
import { openStore, type Store } from "../../src/board/store.ts";
import type { Task } from "../../src/board/task.ts";
import { createDispatcher, type Dispatcher } from "../../src/dispatcher/dispatcher.ts";
import type { DispatchSettings, ReadSettings } from "../../src/dispatcher/settings.ts";
import type { WorkerSettings } from "../../src/dispatcher/worker.ts";
import { createManualClock, type ManualClock } from "../helpers/manual-clock.ts";
import { workerSettings } from "../helpers/worker-settings.ts";
import { createWorld } from "./model-launcher.ts";

export const ME = { by: "me" };
export const TTL_MS = 900_000;

export const SETTINGS: DispatchSettings = {
  defaultAssignee: null,
  maxPerProfile: null,
  maxInProgress: null,
  maxSpawn: null,
  failureLimit: 2,
  intervalMs: 60_000,
  staleMs: 14_400_000,
  claimTtlMs: TTL_MS,
  graceMs: 5000,
  backoffMs: 10_000,
  backoffMaxMs: 60_000,
  cooldownMs: 300_000,
  log: { rotateBytes: 1000, backups: 1 },
  reviews: true,
  reconcile: true,
  profiles: null,
};

export const WORKER: WorkerSettings = workerSettings(["work"]);

/** A manual clock whose wall can jump. */
export interface JumpyClock extends ManualClock {
  jump(ms: number): void;
}

export interface Bench extends AsyncDisposable {
  readonly store: Store;
  readonly clock: JumpyClock;
  readonly world: ReturnType<typeof createWorld>;
  readonly records: LogRecord[];
  /** To be changed by the test. */
  readonly settings: { -readonly [Key in keyof DispatchSettings]: DispatchSettings[Key] };
  readonly warnings: string[];
  /** Null: no such profile. */
  readonly profiles: Record<string, WorkerSettings | null | Error>;
  /** Profiles whose workers run in sandboxes with files of their own. */
  readonly isolating: Set<string>;
  readonly failing: { workspace: string | null; settings: string | null };
  readonly dispatcher: Dispatcher;
  readSettings(): Promise<ReadSettings>;
  another(name: string, machine?: string): Dispatcher;
  task(input?: Partial<NewTask>): Promise<Task>;
}

export interface BenchOptions {
  readonly location?: string;
  readonly random?: () => number;
}

export async function openBench({ location = ":memory:", random = () => 0.5 }: BenchOptions = {}): Promise<Bench> {
  const clock = createJumpyClock();
  const store = await openStore(location, { clock });
  const world = createWorld(store);
  const records: LogRecord[] = [];
  const log = createLogger({ clock, level: "debug", sink: (record) => records.push(record) });
  const settings = { ...SETTINGS };
  const warnings: string[] = [];
  const profiles: Bench["profiles"] = { coder: WORKER, writer: WORKER, lane: { ...WORKER, command: [] } };
  const isolating: Bench["isolating"] = new Set();
  const failing: Bench["failing"] = { workspace: null, settings: null };
  const readSettings = async () => {
    if (failing.settings !== null) throw new Error(failing.settings);
    return { settings: { ...settings }, warnings: [...warnings] };
  };
  const dispatchers: Dispatcher[] = [];
  const another = (name: string, machine?: string) => {
    const dispatcher = createDispatcher({
      store,
      launcher: world.launcher(machine),
      workspaces: {
        async prepare(task) {
          if (failing.workspace !== null) throw new Error(failing.workspace);
          return { kind: "scratch", path: `/work/${task.id}`, branch: null };
        },
        settle: async () => ({ removed: true, kept: null }),
      },
      workers: {
        async settingsOf(profile) {
          const found = profiles[profile] ?? null;
          if (found instanceof Error) throw found;
          return found;
        },
        isolates: async (profile) => isolating.has(profile),
      },
      settings: readSettings,
      holder: name,
      clock,
      log,
      random,
      tailOfLog: async () => "the last line",
    });
    dispatchers.push(dispatcher);
    return dispatcher;
  };
  return {
    store,
    clock,
    world,
    records,
    settings,
    warnings,
    profiles,
    isolating,
    failing,
    dispatcher: another("first"),
    readSettings,
    another,
    task: async (input = {}) => (await store.createTask({ title: "a task", assignee: "coder", ...input }, ME)).task,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
    },
  };
}

function createJumpyClock(): JumpyClock {
  const clock = createManualClock();
  let offset = 0;
  return {
    now: () => clock.now() + offset,
    monotonic: clock.monotonic,
    after: clock.after,
    advance: clock.advance,
    untilPending: clock.untilPending,
    jump(ms) {
      offset += ms;
    },
    get pending() {
      return clock.pending;
    },
  };
}
