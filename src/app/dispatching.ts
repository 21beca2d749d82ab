/** @module The dispatcher of this installation, put together: boards, profiles, supervisors, workspaces. */
import { hostname } from "node:os";
import { HoldfastError } from "../base/errors.ts";
import { randomId } from "../base/ids.ts";
import type { Logger } from "../base/log.ts";
import { DEFAULT_PROFILE } from "../base/names.ts";
import type { Run } from "../board/runs.ts";
import { createDispatchService } from "../dispatcher/dispatch-service.ts";
import { createDispatcher, type Dispatcher } from "../dispatcher/dispatcher.ts";
import { createLauncher, DISPATCHER } from "../dispatcher/launcher.ts";
import { readTaskLog } from "../dispatcher/log-file.ts";
import { currentPlace } from "../dispatcher/place.ts";
import type { DispatchResult } from "../dispatcher/result.ts";
import { type ReadSettings, readSettings, unknownDefaultAssignee } from "../dispatcher/settings.ts";
import { createSupervisors } from "../dispatcher/supervisors.ts";
import { createTidy } from "../dispatcher/tidy.ts";
import { tidyOnce } from "../dispatcher/tidy-once.ts";
import type { Launcher } from "../dispatcher/worker.ts";
import type { App } from "./create-app.ts";
import type { Kanban } from "./kanban.ts";
import { leftBehind, leftSandboxes, removeSandboxesOf } from "./left-behind.ts";
import { ensureOwnBin } from "./own-bin.ts";
import { ownProgram } from "./own-program.ts";
import { reachOf } from "./sandbox-reach.ts";
import { createSplitter } from "./splitter.ts";
import { openWorkspaces } from "./task-workspaces.ts";
import { createProfileConfigs, type ProfileConfigs } from "./worker-directory.ts";
import { supervisorVariables, workerVariables } from "./worker-environment.ts";
import { workerImages } from "./worker-images.ts";

const LOG_TAIL_BYTES = 1500;

export interface Dispatching {
  readonly dispatcher: Dispatcher;
  /** For one that does not stay: removes what tasks of the board that ended not long ago have left (K30). */
  tidyOnce(board: string): Promise<void>;
  /** Until `stop`, on all boards. */
  watch(onPass: (board: string, result: DispatchResult) => void): { start(): void; stop(): Promise<void> };
  close(): Promise<void>;
}

export interface DispatchingOptions {
  /** A dispatcher that stays keeps a supervisor in reserve. */
  readonly stays: boolean;
  /** In place of `kanban.failure_limit`. */
  readonly failureLimit?: number | undefined;
  /** @default the app's */
  readonly log?: Logger;
}

export async function openDispatching(app: App, { stays, failureLimit, log = app.log }: DispatchingOptions): Promise<Dispatching> {
  const kanban = await app.kanban();
  const { store } = kanban;
  const { clock } = app;
  const configs = createProfileConfigs(app);
  let wake = () => {};
  const workers = await openWorkers(app, { reserve: stays, configs, onEnd: () => wake() });
  const workspaces = await openWorkspaces(app, log);
  const settings = async (): Promise<ReadSettings> => {
    const config = await configs.configOf(DEFAULT_PROFILE);
    if (config === null) throw new HoldfastError("internal", "there is no profile default");
    const { kanban: configured } = config.values;
    const read = readSettings(failureLimit === undefined ? configured : { ...configured, failure_limit: String(failureLimit) });
    const { defaultAssignee } = read.settings;
    const known = defaultAssignee === null || (await app.profiles.list()).some(({ name }) => name === defaultAssignee);
    return known ? read : { ...read, warnings: [...read.warnings, unknownDefaultAssignee(defaultAssignee)] };
  };
  const dispatcher = createDispatcher({
    store,
    launcher: workers.launcher,
    workspaces,
    workers: configs,
    settings,
    holder: `${DISPATCHER}${hostname()}/${process.pid}/${randomId(4)}`,
    clock,
    log,
    tailOfLog: async (run) => tailOfLog(kanban, run),
  });
  const removeSandboxes = removeSandboxesOf(app, configs);
  const settle = { store, launcher: workers.launcher, workspaces, removeSandboxes, settings, clock, log };
  const tidy = createTidy({ ...settle, leftBehind: () => leftBehind(app, log) });
  const splitter = createSplitter(app, { configs, log });

  return {
    dispatcher,
    tidyOnce: (board) =>
      tidyOnce(board, { ...settle, sandboxes: (profiles) => leftSandboxes(app, log, profiles), leads: dispatcher.leadership.sure }),
    watch(onPass) {
      const afterPass = (board: string, result: DispatchResult) => {
        onPass(board, result);
        if (!result.skipped_locked) splitter.begin(board);
      };
      const service = createDispatchService({ store, dispatcher, settings, clock, log, onPass: afterPass, afterRound: () => tidy.round() });
      wake = service.wake;
      return service;
    },
    async close() {
      await dispatcher.stop();
      await splitter.close();
      workers.close();
    },
  };
}

interface WorkersOptions {
  readonly reserve: boolean;
  readonly configs: ProfileConfigs;
  readonly onEnd: () => void;
}

/** What starts and ends workers, also for whoever only wants to end one. */
export async function openWorkers(app: App, { reserve, configs, onEnd }: WorkersOptions): Promise<{ launcher: Launcher; close(): void }> {
  const { store, files, database } = await app.kanban();
  const home = app.profiles.root;
  const bin = await ensureOwnBin(files.root);
  const { install } = await app.owner("default");
  const env = supervisorVariables(app.environment, home);
  const source = (await configs.configOf(DEFAULT_PROFILE))?.explain("kanban.database").source.kind;
  const elsewhere = source === "flag" || source === "environment" ? database : null;
  const supervisors = createSupervisors({ program: [...ownProgram(), "__supervise"], env, directory: files.root, reserve });
  const launcher = createLauncher({
    store,
    files,
    home,
    database,
    place: currentPlace(install),
    supervisors,
    async workerEnv(claim, launch) {
      const dotenv = (await configs.configOf(claim.run.profile))?.dotenv ?? {};
      const images = launch.worker.vision ? await workerImages(await app.kanban(), claim.task, launch.workspace) : [];
      return workerVariables({ claim, launch, home, database: elsewhere, bin, images, environment: app.environment, dotenv });
    },
    reachOf: (claim, launch) => reachOf(app, claim, launch),
    async endInSandbox(run, record, options) {
      // An older version did not record where; a profile that was deleted has taken its sandboxes with it.
      if (record.address === undefined && (await configs.configOf(run.profile)) === null) return;
      const { endRunInSandbox } = await import("./sandbox-worker.ts");
      await endRunInSandbox(app, run, record, options);
    },
    onEnd,
    clock: app.clock,
  });
  return { launcher, close: () => supervisors.close() };
}

/** Of this run alone: the log has those of earlier ones, too. */
async function tailOfLog({ store, files }: Kanban, { id, task }: Run): Promise<string> {
  const { board } = await store.getTask(task);
  const tail = readTaskLog(files.log(board, task), LOG_TAIL_BYTES).toString();
  const header = [...tail.matchAll(new RegExp(`^run ${id} of .*\\n`, "gm"))].at(-1);
  return header === undefined ? tail : tail.slice(header.index + header[0].length);
}
