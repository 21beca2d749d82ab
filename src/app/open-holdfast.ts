/** @module The library's front door: sandboxes for programs, with the same rules and configuration as the command line. */
import { CALLBACK, checkFields, checkInput, FLAG, type InputType, MAP, NUMBER, TEXT } from "../base/check-input.ts";
import { systemClock } from "../base/clock.ts";
import { createLogger, type LogRecord, silentLogger } from "../base/log.ts";
import { DEFAULT_TASK } from "../base/names.ts";
import { processEnvironment } from "../config/environment.ts";
import type { CallOptions, CallResult, Command } from "../sandbox/call.ts";
import { checkCallOptions } from "../sandbox/call-input.ts";
import type { Files } from "../sandbox/files.ts";
import type { ProcessInfo, ProcessOptions } from "../sandbox/process.ts";
import { createBoard } from "./board-of-library.ts";
import type { Board } from "./board-results.ts";
import { callerDirectory } from "./caller-directory.ts";
import { type App, createApp } from "./create-app.ts";
import { pickProcess } from "./find-process.ts";
import { runOperation } from "./operation.ts";
import { configExplain } from "./operations/config-explain.ts";
import { configGet } from "./operations/config-get.ts";
import { configList } from "./operations/config-list.ts";
import { configSet } from "./operations/config-set.ts";
import { configUnset } from "./operations/config-unset.ts";
import { doctor } from "./operations/doctor.ts";
import { sandboxExplain } from "./operations/sandbox-explain.ts";
import { sandboxInspect } from "./operations/sandbox-inspect.ts";
import { sandboxList } from "./operations/sandbox-list.ts";
import { sandboxPrune } from "./operations/sandbox-prune.ts";
import { sandboxRemove } from "./operations/sandbox-remove.ts";
import { sandboxReset } from "./operations/sandbox-reset.ts";
import { sandboxStop } from "./operations/sandbox-stop.ts";
import { chooseForTask } from "./operations/sandbox-up.ts";
import { sessionList } from "./operations/session-list.ts";
import { sessionRemove } from "./operations/session-remove.ts";
import { createProcessHandle, type ProcessHandle } from "./process-handle.ts";
import type {
  ConfigEntry,
  DoctorReport,
  ListedSandbox,
  PruneReport,
  SandboxDetails,
  SandboxExplanation,
  SessionSummary,
} from "./results.ts";
import { useSandbox } from "./sandbox-of-task.ts";

export interface OpenHoldfastOptions {
  /**
   * Which profile to be.
   * @default `HOLDFAST_PROFILE`, then the choice of `holdfast profile use`, then `default`
   */
  profile?: string;
  /** Configuration for this object alone, by key: `{ "terminal.timeout": 60 }`. Wins over everything else. */
  config?: Readonly<Record<string, unknown>>;
  /**
   * Variables that count: `HOLDFAST_HOME`, `HOLDFAST_PROFILE`, `TERMINAL_…`, and what new sessions on the host inherit.
   * @default the process's own
   */
  environment?: Readonly<Record<string, string | undefined>>;
  /**
   * Where sessions begin on backends that share the host's files.
   * @default the process's working directory
   */
  cwd?: string;
  /**
   * Receives warnings and errors of the inner workings, and with `debug` everything.
   * @default nothing is logged
   */
  onLog?: (record: LogRecord) => void;
  /** @default false */
  debug?: boolean;
}

/** What a task has for itself, from its first call on and in every process. */
export interface SandboxChoice {
  image?: string;
  backend?: string;
}

/** One sandbox, ready for use. */
export interface Box {
  readonly task: string;
  /** `found`: it was there before, with all its sessions. */
  readonly origin: "created" | "found";
  /** Runs a command and waits for it. A command that fails is a result; only a failing sandbox rejects. */
  run(command: Command, options?: CallOptions): Promise<CallResult>;
  /**
   * Starts a command in the background. It outlives this process.
   * @throws HoldfastError `process-limit` when 64 are running
   */
  start(command: Command, options?: ProcessOptions): Promise<ProcessHandle>;
  /** Background processes, whoever started them. */
  readonly processes: {
    /** Oldest first, also those that have ended. */
    list(): Promise<readonly ProcessInfo[]>;
    /**
     * By its id, the beginning of it, or a name that only one has.
     * @throws HoldfastError `process-not-found`
     */
    get(process: string): Promise<ProcessHandle>;
  };
  readonly files: Files;
  readonly sessions: {
    list(): Promise<readonly SessionSummary[]>;
    /** @throws HoldfastError `session-not-found` */
    remove(name: string): Promise<void>;
  };
  /**
   * This program needs the sandbox no more for now: its connection is closed, and the sandbox removed only if it does not persist; the next
   * use of this object finds it again, or makes a new one. With `forceRemove` it is removed in any case, with all that runs in it. Harmless
   * when there is none.
   */
  cleanup(options?: CleanupOptions): Promise<void>;
}

export interface RemoveOptions {
  /** @default false */
  readonly force?: boolean;
  /** @default false */
  readonly files?: boolean;
}

/** How this program lets go of a sandbox. */
export interface CleanupOptions {
  /**
   * Removes the sandbox also if it persists, and whatever runs in it. The files of one that keeps them stay.
   * @default false
   */
  readonly forceRemove?: boolean;
}

export interface Holdfast extends AsyncDisposable {
  readonly profile: string;
  /** The profile's home directory. */
  readonly home: string;
  /** The sandbox of a task, found again or made. */
  sandbox(task?: string, choice?: SandboxChoice): Promise<Box>;
  readonly sandboxes: {
    /** With why each is kept. @throws with `all`, when a profile or backend cannot be asked */
    list(options?: { all?: boolean }): Promise<readonly ListedSandbox[]>;
    /** Why it is kept, when it goes, and what became of earlier ones. */
    explain(task?: string): Promise<SandboxExplanation>;
    /**
     * Ends what runs in it; its files stay, and the next use starts it.
     * @throws HoldfastError `busy` without `force`, while something runs in it
     */
    stop(task: string, options?: { force?: boolean }): Promise<void>;
    /** Removes sandboxes that ended long ago, and what others have left behind; with `dryRun` only tells. */
    prune(options?: { all?: boolean; dryRun?: boolean; files?: boolean }): Promise<PruneReport>;
    inspect(task: string): Promise<SandboxDetails>;
    /**
     * The files in the home and workspace of a sandbox that keeps them stay, and are in `kept`; `files` removes them as well.
     * @throws HoldfastError `busy` without `force`, while something runs in it
     */
    remove(task: string, options?: RemoveOptions): Promise<{ kept: readonly string[] }>;
    reset(task: string, options?: RemoveOptions): Promise<{ kept: readonly string[] }>;
  };
  /**
   * The tasks of a board, in the name of the profile.
   * @default `HOLDFAST_KANBAN_BOARD`, then the choice of `holdfast kanban boards switch`, then `default`
   */
  board(slug?: string): Board;
  /** A turn of the agent is over: a sandbox stays as it is, unless `terminal.container_persistent` is false; then this process lets go of it. */
  endTurn(task?: string): Promise<void>;
  /** A session or chat is over: as `Box.cleanup`, also for a task of which this program holds nothing. */
  releaseTask(task?: string, options?: CleanupOptions): Promise<void>;
  /** True when nothing that this program lets go of is still being removed or closed, or is any more within that many milliseconds. */
  waitForCleanup(timeoutMs: number): Promise<boolean>;
  readonly config: {
    get(key: string): Promise<unknown>;
    list(): Promise<readonly ConfigEntry[]>;
    explain(key: string): Promise<ConfigEntry>;
    /** Changes the profile's config.yaml; this object keeps what it has loaded. */
    set(key: string, value: unknown): Promise<void>;
    unset(key: string): Promise<void>;
  };
  doctor(): Promise<DoctorReport>;
  /** Lets go of everything by the rules of each sandbox; says what could not be finished in time. */
  close(): Promise<{ left: readonly string[] }>;
}

export const ENVIRONMENT: InputType = {
  expected: "an object of strings",
  fits: (value) => MAP.fits(value) && Object.values(value as object).every((text) => text === undefined || TEXT.fits(text)),
};

const OPTIONS: Readonly<Record<keyof OpenHoldfastOptions, InputType>> = {
  profile: TEXT,
  config: MAP,
  environment: ENVIRONMENT,
  cwd: TEXT,
  onLog: CALLBACK,
  debug: FLAG,
};

const CLEANUP: Readonly<Record<keyof CleanupOptions, InputType>> = { forceRemove: FLAG };

const CHOICE: Readonly<Record<keyof SandboxChoice, InputType>> = { image: TEXT, backend: TEXT };

/** Several objects of one program are one process. */
const SWEPT = new Set<string>();

const SETTING: InputType = {
  expected: "a value that JSON can hold",
  fits(value) {
    try {
      return JSON.stringify(value) !== undefined;
    } catch {
      // TypeError: a bigint, or an object that holds itself.
      return false;
    }
  },
};

export async function openHoldfast(options: OpenHoldfastOptions = {}): Promise<Holdfast> {
  checkFields("options", options, OPTIONS);
  const { profile, config = {}, environment = processEnvironment(), cwd = callerDirectory(), onLog, debug = false } = options;
  const log = onLog ? createLogger({ clock: systemClock, level: debug ? "debug" : "warn", sink: onLog }) : silentLogger;
  const flags = Object.entries(config).map(([key, value]) => {
    checkInput(`config[${JSON.stringify(key)}]`, value, SETTING);
    return { name: "config", key, value };
  });
  const app = await createApp({ environment, cwd, profile, flags, log, swept: SWEPT });
  // Loaded now, so that a mistake in it is the first thing a program hears of.
  await app.config();
  return toHoldfast(app);
}

function toHoldfast(app: App): Holdfast {
  const close = () => app.close();
  return {
    profile: app.profile.name,
    home: app.profile.home,
    async sandbox(task = DEFAULT_TASK, choice = {}) {
      checkFields("choice", choice, CHOICE);
      await chooseForTask(app, task, choice);
      return openBox(app, task);
    },
    sandboxes: {
      list: (options) => runOperation(app, sandboxList, { all: false, ...options }),
      explain: (task) => runOperation(app, sandboxExplain, { task }),
      stop: async (task, options) => void (await runOperation(app, sandboxStop, { force: false, ...options, task })),
      prune: (options) => runOperation(app, sandboxPrune, { ...options }),
      inspect: (task) => runOperation(app, sandboxInspect, { task }),
      remove: async (task, options) => keptOf(await runOperation(app, sandboxRemove, { ...options, task })),
      reset: async (task, options) => keptOf(await runOperation(app, sandboxReset, { ...options, task })),
    },
    board(slug) {
      if (slug !== undefined) checkInput("slug", slug, TEXT);
      return createBoard(app, slug);
    },
    async endTurn(task = DEFAULT_TASK) {
      const own = await app.forTask(task);
      await (await own.lifecycle()).endTurn(await own.owner(task));
    },
    async releaseTask(task = DEFAULT_TASK, options = {}) {
      const forceRemove = forced(options);
      const own = await app.forTask(task);
      await (await own.lifecycle()).releaseTask(await own.owner(task), { forceRemove });
    },
    async waitForCleanup(timeoutMs) {
      checkInput("timeoutMs", timeoutMs, NUMBER);
      return app.waitForCleanup(timeoutMs);
    },
    config: {
      get: async (key) => (await runOperation(app, configGet, { key })).value,
      list: () => configList.run(app, { changed: false }),
      explain: (key) => runOperation(app, configExplain, { key }),
      set: async (key, value) => void (await runOperation(app, configSet, { key, value })),
      unset: async (key) => void (await runOperation(app, configUnset, { key })),
    },
    doctor: () => doctor.run(app, {}),
    close,
    async [Symbol.asyncDispose]() {
      await close();
    },
  };
}

function keptOf({ kept }: { kept: readonly string[] }): { kept: readonly string[] } {
  return { kept };
}

/** Only that: what else the lifecycle may be asked for is for operations. */
function forced(options: CleanupOptions): boolean {
  checkFields("options", options, CLEANUP);
  return options.forceRemove === true;
}

async function openBox(app: App, task: string): Promise<Box> {
  const { origin, sandbox, cleanup } = await useSandbox(app, task);
  return {
    task,
    origin,
    run: async (command, options = {}) => sandbox.run(command, checkCallOptions(options)),
    async start(command, options) {
      const { id } = await sandbox.processes.start(command, options);
      return createProcessHandle(sandbox.processes, id);
    },
    processes: {
      list: () => sandbox.processes.list(),
      async get(process) {
        checkInput("process", process, TEXT);
        return createProcessHandle(sandbox.processes, pickProcess(await sandbox.processes.list(), process).id);
      },
    },
    files: sandbox.files,
    sessions: {
      list: () => sessionList.run(app, { task }),
      remove: async (session) => void (await runOperation(app, sessionRemove, { task, session })),
    },
    cleanup: async (options = {}) => cleanup({ forceRemove: forced(options) }),
  };
}
