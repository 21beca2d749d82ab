/** @module The shell of one call: starting it, and hearing what it reports. Through the daemon where there is one, else through files. */
import { HoldfastError } from "../../base/errors.ts";
import { type DaemonProcess, startCall } from "../daemon/calls.ts";
import type { DaemonAccess } from "../daemon/daemon.ts";
import type { Connection, FileAccess, SandboxProcess, SpawnOptions } from "../driver.ts";
import type { TerminalSize } from "../process.ts";
import { type CommandRequest, createCallFiles } from "./call-files.ts";
import { parseReport, type ShellReport } from "./report.ts";
import { type CommandScript, callArgv, daemonCallArgv, ONE_CALL_PREFIX } from "./script.ts";
import type { Sessions } from "./sessions.ts";
import { explainUnusableBash } from "./unusable-bash.ts";

export interface ShellMachinery {
  readonly connection: Connection;
  readonly files: FileAccess;
  readonly sessions: Sessions;
  /** What the sandbox was made from, where that is known. */
  readonly image?: string | undefined;
}

export interface ShellRequest extends CommandRequest, Pick<SpawnOptions, "stdin" | "merge" | "onOutput"> {
  readonly timeoutMs: number;
  readonly tty: TerminalSize | null;
}

/** Disposing of it removes what it left in the sandbox. */
export interface Shell extends AsyncDisposable {
  readonly process: SandboxProcess;
  resize(size: TerminalSize): void;
  /** To be asked after the end. `silent`: it could not write its report; `missing`: that has disappeared. */
  outcome(): Promise<{ readonly report: ShellReport | "silent" | "missing"; readonly timedOut: boolean }>;
}

export async function startShell(machinery: ShellMachinery, request: ShellRequest): Promise<Shell> {
  const { daemon } = machinery.connection;
  const { script, resultFile, write, remove } = createCallFiles(machinery, request);
  try {
    await write();
    const started = daemon
      ? await startThroughDaemon(daemon, script, request)
      : await startThroughFiles(machinery, { ...script, resultFile }, request);
    return { ...started, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw explainUnusableBash(error, machinery.image);
  }
}

async function startThroughDaemon(
  { link, environment }: DaemonAccess,
  script: CommandScript,
  request: ShellRequest,
): Promise<Omit<Shell, keyof AsyncDisposable>> {
  const { text, env, stdin, merge = false, onOutput, timeoutMs, tty } = request;
  const process: DaemonProcess = await startCall(link, {
    argv: daemonCallArgv(script),
    ...environment(oneCallEnvironment(env)),
    cwd: "/",
    stdin,
    merge,
    shown: text,
    // Whole, and not 0, which would mean for ever.
    timeoutMs: Math.ceil(timeoutMs),
    ...(tty && { tty }),
    stateFile: script.stateFile,
    onOutput,
  });
  return {
    process,
    resize: process.resize,
    async outcome() {
      const { report: bytes, saved, unsaved, timedOut } = await process.ended;
      const report = parseReport(bytes) ?? { kind: "damaged" };
      if (report.kind !== "ended") return { report, timedOut };
      return { report: { ...report, unsaved: unsaved ?? (saved ? null : "its shell wrote none") }, timedOut };
    },
  };
}

async function startThroughFiles(
  { connection, files }: ShellMachinery,
  script: CommandScript & { readonly resultFile: string },
  { env, stdin, merge = false, onOutput, tty }: ShellRequest,
): Promise<Omit<Shell, keyof AsyncDisposable>> {
  if (tty) throw new HoldfastError("daemon-missing", "a command can only have a terminal where holdfastd runs, so it did not run");
  const options: SpawnOptions = { env: oneCallEnvironment(env), stdin, merge, onOutput };
  const process = await connection.spawn(callArgv(script), options);
  return {
    process,
    resize() {},
    async outcome() {
      const bytes = await files.read(script.resultFile);
      return { report: bytes === null ? "missing" : (parseReport(bytes) ?? "silent"), timedOut: false };
    },
  };
}

/** Their names are arguments of the shell, their values are not: everyone can see an argument list. */
export function oneCallEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [ONE_CALL_PREFIX + name, value]));
}
