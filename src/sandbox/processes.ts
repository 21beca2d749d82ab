/** @module The background processes of a sandbox, on top of the daemon in it. */
import { type ErrorCode, HoldfastError } from "../base/errors.ts";
import { DEFAULT_SESSION } from "../base/names.ts";
import type { Command } from "./call.ts";
import { checkDirectory, commandText, oneCallVariables } from "./call-input.ts";
import { attachProcess } from "./daemon/attach.ts";
import type { DaemonAccess } from "./daemon/daemon.ts";
import {
  forgetProcess,
  killProcess,
  listProcesses,
  readLog,
  signalProcess,
  startProcess,
  waitForProcess,
  writeProcess,
} from "./daemon/processes.ts";
import type { ExitStatus } from "./driver.ts";
import type { LogChunk, LogOptions, ProcessEvent, Processes, ProcessInfo, ProcessOptions, WatchOptions } from "./process.ts";
import {
  bytesOf,
  checkAttachOptions,
  checkGrace,
  checkId,
  checkLogOptions,
  checkProcessOptions,
  checkSize,
  checkWatchOptions,
  processNotFound,
  signalNumber,
} from "./process-input.ts";
import { type CallMachinery, runCall } from "./run-call.ts";
import { createCallFiles } from "./session/call-files.ts";
import { processArgv } from "./session/script.ts";
import { oneCallEnvironment } from "./session/shell.ts";
import { shownInstead } from "./shown-command.ts";
import { watchLines } from "./watch.ts";

const KEEP_BYTES = 64 * 1024 * 1024;
const GRACE_MS = 2_000;
const MOST_RUNNING = 64;
/** Nothing at all: it only shows whether a command could begin. */
const PROBE = ":";

export function createProcesses(machinery: CallMachinery): Processes {
  const { connection, clock } = machinery;
  const daemon = (): DaemonAccess => {
    if (connection.daemon) return connection.daemon;
    throw new HoldfastError("daemon-missing", "there are no background processes in this sandbox, since holdfastd does not run in it");
  };
  const list = async () => listProcesses(daemon().link);
  const get = async (id: string): Promise<ProcessInfo> => {
    const { link } = daemon();
    checkId(id);
    const found = (await listProcesses(link)).find((process) => process.id === id);
    if (!found) throw processNotFound(id);
    return found;
  };
  async function* logs(id: string, { from = 0, ...options }: LogOptions): AsyncGenerator<LogChunk, ExitStatus | null> {
    const { link } = daemon();
    const first = from < 0 ? Math.max(0, (await get(id)).outputBytes + from) : from;
    return yield* readLog(link, checkId(id), { ...options, from: first });
  }
  async function* watch(id: string, options: WatchOptions): AsyncGenerator<ProcessEvent, void> {
    daemon();
    checkWatchOptions(options);
    const from = options.from ?? (await get(id)).outputBytes;
    yield* watchLines(logs(id, { from, follow: true, ...(options.signal && { signal: options.signal }) }), options, clock);
  }

  return {
    async start(command, options = {}) {
      try {
        return await get(await start(machinery, daemon(), { command, options }));
      } catch (error) {
        if (!isError(error, "process-limit")) throw error;
        throw refusal(error, (await list()).filter(({ state }) => state === "running").length);
      }
    },
    list,
    get,
    async *logs(id, options = {}) {
      daemon();
      checkLogOptions(options);
      yield* logs(id, options);
    },
    watch,
    wait: async (id, options = {}) => waitForProcess(daemon().link, checkId(id), options),
    kill: async (id, { graceMs = GRACE_MS } = {}) => killProcess(daemon().link, checkId(id), checkGrace(graceMs)),
    async signal(id, name) {
      const { link } = daemon();
      const number = signalNumber(name);
      checkId(id);
      try {
        await signalProcess(link, id, number);
      } catch (error) {
        if (!isError(error, "process-not-found")) throw error;
        // The daemon gives the same answer for one that has ended and one that never was.
        await get(id);
        throw new HoldfastError("process-ended", `process ${id} has ended, so it cannot get ${name}`, {
          facts: { process: id },
          cause: error,
        });
      }
    },
    async write(id, bytes, { end = false } = {}) {
      const { link } = daemon();
      checkId(id);
      try {
        await writeProcess(link, id, { bytes: bytesOf(bytes), end });
      } catch (error) {
        if (!isError(error, "process-input-closed")) throw error;
        throw inputClosed(await get(id), error);
      }
    },
    async attach(id, options) {
      const { link } = daemon();
      checkAttachOptions(options);
      const line = await attachProcess(link, checkId(id), options);
      return { ...line, resize: (size) => line.resize(checkSize("size", size)), signal: (name) => line.signal(signalNumber(name)) };
    },
    async remove(id) {
      const { link } = daemon();
      checkId(id);
      try {
        await forgetProcess(link, id);
      } catch (error) {
        if (!isError(error, "busy")) throw error;
        throw new HoldfastError("busy", `process ${id} still runs, so it cannot be removed`, {
          hint: `end it first: holdfast process kill ${id}`,
          facts: { process: id },
          cause: error,
        });
      }
    },
  };
}

function isError(error: unknown, code: ErrorCode): error is HoldfastError {
  return HoldfastError.isInstance(error) && error.code === code;
}

/** The daemon gives the same answer for an input that is closed, one that never was, and a process that has ended. */
function inputClosed({ id, state }: ProcessInfo, cause: HoldfastError): HoldfastError {
  const facts = { process: id };
  if (state === "ended")
    return new HoldfastError("process-ended", `process ${id} has ended, so nothing can be written to it`, { facts, cause });
  const message = `process ${id} takes no input: it was started without input, or its input was closed since`;
  return new HoldfastError("process-input-closed", message, { facts, cause });
}

/** The system gives the same answer when it has no room for one more process of any kind. */
function refusal(cause: HoldfastError, running: number): HoldfastError {
  const facts = { ...cause.facts, running };
  if (running < MOST_RUNNING) return new HoldfastError("spawn-failed", cause.message, { facts, cause });
  return new HoldfastError("process-limit", `the process was not started, because ${running} are running already`, { facts, cause });
}

/** Returns its id. */
async function start(
  machinery: CallMachinery,
  { link, environment }: DaemonAccess,
  { command, options }: { command: Command; options: ProcessOptions },
): Promise<string> {
  const text = commandText(command);
  checkProcessOptions(options);
  const { name = "", session = DEFAULT_SESSION, stdin = false, tty, keepBytes = KEEP_BYTES } = options;
  const env = { ...machinery.connection.callVariables, ...oneCallVariables(options.env ?? {}) };
  const cwd = checkDirectory(options.cwd);
  // Nobody waits for what the shell of a process reports. So a call shows first that session, directory and variables are good.
  await runCall(machinery, PROBE, { session, env, overflowFile: false, ...(cwd !== null && { cwd }) });
  const { script, write, remove } = createCallFiles(machinery, { text, env, cwd, session });
  try {
    await write();
    return await startProcess(
      link,
      {
        argv: processArgv(script),
        ...environment(oneCallEnvironment(env)),
        cwd: "/",
        stdin: stdin ? "pipe" : "none",
        merge: true,
        shown: shownInstead(options) ?? (typeof command === "string" ? command : command.join(" ")),
        ...(tty && { tty }),
        stateFile: null,
      },
      { name, keepBytes },
    );
  } catch (error) {
    // Its shell does that otherwise.
    await remove();
    throw error;
  }
}
