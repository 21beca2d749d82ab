/** @module A dispatcher as a process of its own. Argument: `DispatcherProcess` as JSON. It prints what it starts and what goes wrong. */

import { writeSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { systemClock } from "../../src/base/clock.ts";
import { createLogger } from "../../src/base/log.ts";
import { boardFiles } from "../../src/board/files.ts";
import { openStore } from "../../src/board/store.ts";
import { createDispatchService } from "../../src/dispatcher/dispatch-service.ts";
import { createDispatcher } from "../../src/dispatcher/dispatcher.ts";
import { createLauncher, DISPATCHER } from "../../src/dispatcher/launcher.ts";
import { currentPlace } from "../../src/dispatcher/place.ts";
import type { DispatchSettings } from "../../src/dispatcher/settings.ts";
import { createSupervisors } from "../../src/dispatcher/supervisors.ts";
import { createTidy } from "../../src/dispatcher/tidy.ts";
import { createWorkspaces } from "../../src/dispatcher/workspaces/create-workspaces.ts";
import { workerSettings } from "../helpers/worker-settings.ts";

export interface DispatcherProcess {
  readonly home: string;
  readonly database: string;
  readonly settings: DispatchSettings;
  /** The command of each profile. */
  readonly workers: Readonly<Record<string, readonly string[]>>;
  /** Of supervisors and workers. */
  readonly env: Readonly<Record<string, string>>;
  /** Node, its flags, and Holdfast. */
  readonly program: readonly string[];
}

const config = JSON.parse(process.argv[2] ?? "") as DispatcherProcess;
const { home, database, settings, env } = config;
const say = (line: string) => void writeSync(1, `${line.replaceAll("\n", " ")}\n`);
const files = boardFiles(home);
await mkdir(files.root, { recursive: true });
const store = await openStore(database);
const log = createLogger({ clock: systemClock, level: "warn", sink: ({ level, message }) => say(`${level} ${message}`) });
let wake = () => {};
const supervisors = createSupervisors({
  program: [...config.program, "__supervise"],
  env: { ...env, HOLDFAST_HOME: home },
  directory: files.root,
  reserve: true,
});
const launcher = createLauncher({
  store,
  files,
  home,
  database,
  place: currentPlace("faults"),
  supervisors,
  workerEnv: async ({ task, run, token }) => ({
    ...env,
    HOLDFAST_HOME: home,
    HOLDFAST_TASK: task.id,
    HOLDFAST_RUN: String(run.id),
    HOLDFAST_RUN_TOKEN: token,
    FAULTS_DATABASE: database,
  }),
  reachOf: async () => null,
  endInSandbox: async () => {},
  onEnd: () => wake(),
  clock: systemClock,
});
const workspaces = createWorkspaces({ store, files, clock: systemClock, log });
const readSettings = async () => ({ settings, warnings: [] });
const dispatcher = createDispatcher({
  store,
  launcher,
  workspaces,
  workers: {
    async settingsOf(profile) {
      const command = config.workers[profile];
      return command === undefined ? null : workerSettings(command);
    },
    isolates: async () => false,
  },
  settings: readSettings,
  holder: `${DISPATCHER}${process.pid}`,
  clock: systemClock,
  log,
});
const tidy = createTidy({
  store,
  launcher,
  // Tests read what workers wrote there.
  workspaces: { settle: async () => ({ removed: false, kept: "for the test" }) },
  removeSandboxes: async () => [],
  leftBehind: async () => [],
  settings: readSettings,
  clock: systemClock,
  log,
});
const service = createDispatchService({
  store,
  dispatcher,
  settings: readSettings,
  clock: systemClock,
  log,
  onPass: (board, { spawned, skipped_locked: locked }) => {
    say(`pass ${board} ${locked ? "waits" : "leads"}`);
    for (const { task } of spawned) say(`spawned ${task}`);
  },
  afterRound: () => tidy.round(),
});
wake = service.wake;
process.once("SIGTERM", async () => {
  await service.stop();
  supervisors.close();
  await store[Symbol.asyncDispose]();
  process.exit(0);
});
// Nothing else keeps the process alive between passes.
setInterval(() => {}, 60_000);
service.start();
