/** @module The sessions of one sandbox: where their state is, how they begin and end. */
import { posix } from "node:path";
import { throwIfAborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { HoldfastError } from "../../base/errors.ts";
import { randomId } from "../../base/ids.ts";
import { parseSessionName } from "../../base/names.ts";
import { type SharedWork, shareWork } from "../../base/shared-work.ts";
import type { Connection, FileAccess } from "../driver.ts";
import { parseReport, type ShellReport } from "./report.ts";
import { savedCwd } from "./saved-cwd.ts";
import { startArgv } from "./script.ts";
import { explainUnusableBash } from "./unusable-bash.ts";

// A profile script may do slow things, but one that waits for input must not hold up the first call for ever.
const LOGIN_LIMIT_MS = 30_000;
const KILL_GRACE_MS = 500;
const STALE_RESULT_MS = 24 * 60 * 60 * 1000;

export interface SessionInfo {
  readonly name: string;
  /** Where the next call will begin. */
  readonly cwd: string;
  /** Milliseconds since the epoch. */
  readonly lastUsedAt: number;
}

export interface Sessions {
  stateFile(name: string): string;
  /** Where a call's shell reports, and where a long command waits; both are gone after the call. */
  callFiles(): { resultFile: string; commandFile: string };
  /**
   * Makes the session unless it is there; says what a person should know about how that went. When everybody who waits for it has given up,
   * its login shell is ended.
   */
  begin(name: string, signal?: AbortSignal): Promise<string[]>;
  /** The session turned out to be gone, so the next `begin` must look again. */
  forget(name: string): void;
  /** Where the next call will begin; empty when there is no such session. */
  cwd(name: string): Promise<string>;
  list(): Promise<SessionInfo[]>;
  /** False when there was no such session. */
  remove(name: string): Promise<boolean>;
}

export interface SessionsOptions {
  connection: Connection;
  files: FileAccess;
  clock: Clock;
  /** Absolute, or beginning with `~`. Null: the caller's, which was deleted, so that no session can begin. */
  startDirectory: string | null;
  /** What the sandbox was made from, where that is known. */
  image?: string | undefined;
  loginLimitMs?: number;
}

interface Start {
  readonly name: string;
  readonly directory: string;
  readonly login: boolean;
  readonly stop: AbortSignal;
}

export function createSessions(options: SessionsOptions): Sessions {
  const { connection, files, clock, startDirectory, image, loginLimitMs = LOGIN_LIMIT_MS } = options;
  const root = posix.join(connection.stateDir, "sessions");
  const calls = posix.join(connection.stateDir, "calls");
  const directoryOf = (name: string) => posix.join(root, parseSessionName(name));
  const stateFile = (name: string) => posix.join(directoryOf(name), "state");
  const callFiles = () => {
    const call = posix.join(calls, randomId(8));
    return { resultFile: `${call}.result`, commandFile: `${call}.command` };
  };
  const begun = new Set<string>();
  const beginning = new Map<string, SharedWork<string[]>>();

  const start = async ({ name, directory, login, stop }: Start): Promise<{ report: ShellReport | null; problem: string }> => {
    const { resultFile } = callFiles();
    const errors: string[] = [];
    // Also makes the directories that the shell writes to.
    await files.write(resultFile, new Uint8Array());
    await files.write(posix.join(directoryOf(name), ".keep"), new Uint8Array());
    const spawning = connection.spawn(startArgv({ stateFile: stateFile(name), resultFile, cwd: directory, login }), {
      stdin: "none",
      onOutput: (chunk, stream) => void (stream === "stderr" && errors.length < 20 && errors.push(Buffer.from(chunk).toString("utf8"))),
    });
    const process = await spawning.catch((error: unknown) => {
      throw explainUnusableBash(error, image);
    });
    let killing: Promise<void> | undefined;
    const end = () => {
      killing ??= process.kill({ graceMs: KILL_GRACE_MS });
      // Awaited below; without this a failure in the meantime would count as unhandled.
      killing.catch(() => {});
    };
    const timer = clock.after(loginLimitMs, end);
    stop.addEventListener("abort", end);
    if (stop.aborted) end();
    const { exitCode } = await process.ended.finally(() => timer.cancel());
    await killing;
    stop.removeEventListener("abort", end);
    const report = parseReport(await files.read(resultFile));
    await files.remove(resultFile);
    throwIfAborted(stop, `session ${name} was not begun`);
    const lastWords = errors.join("").trim().split("\n").at(-1);
    const problem = killing
      ? `it did not end within ${loginLimitMs / 1000} s`
      : `it ended with status ${exitCode}${lastWords ? `: ${lastWords}` : ""}`;
    return { report, problem };
  };

  /** Null when somebody removed the session while it was being made. */
  const tryStart = async (shell: Start) => {
    try {
      const outcome = await start(shell);
      const there = outcome.report !== null || (await files.list(directoryOf(shell.name))).length > 0;
      return there ? outcome : null;
    } catch (error) {
      if (HoldfastError.isInstance(error) && error.facts.systemCode === "ENOENT") return null;
      throw error;
    }
  };

  const make = async (name: string, stop: AbortSignal): Promise<string[]> => {
    if ((await files.list(directoryOf(name))).some((entry) => entry.name === "state")) return [];
    if (startDirectory === null) throw noStartDirectory(name);
    await pruneCallFiles();
    const shell = { name, directory: startDirectory, login: true, stop };
    const first = (await tryStart(shell)) ?? (await start(shell));
    if (first.report?.kind === "made") return [];
    if (first.report?.kind === "bad-cwd") throw badStartDirectory(startDirectory);
    const second = await start({ ...shell, login: false });
    if (second.report?.kind === "made")
      return [`the login shell failed (${first.problem}), so session ${name} began without what it sets up`];
    throw new HoldfastError("session-failed", `session ${name} could not be made, because its shell failed: ${second.problem}`, {
      hint: "see that the sandbox has bash and that its disk is not full",
      facts: { session: name },
    });
  };

  /** Left over from host processes that were killed during a call. */
  const pruneCallFiles = async () => {
    for (const { name, modifiedAt } of await files.list(calls)) {
      if (clock.now() - modifiedAt > STALE_RESULT_MS) await files.remove(posix.join(calls, name));
    }
  };

  return {
    stateFile,
    callFiles,
    async begin(name, signal) {
      if (begun.has(name)) return [];
      // One that is being given up may still be ending its shell.
      while (beginning.get(name)?.cancelled) await beginning.get(name)?.settled;
      const work = beginning.get(name) ?? shareWork((stop) => make(name, stop).finally(() => beginning.delete(name)));
      beginning.set(name, work);
      try {
        const warnings = await work.join(signal);
        begun.add(name);
        return warnings;
      } finally {
        // Whoever gives up last stays until nothing is left running.
        if (work.cancelled) await work.settled;
      }
    },
    forget: (name) => void begun.delete(name),
    async cwd(name) {
      return savedCwd((await files.read(stateFile(name))) ?? new Uint8Array());
    },
    async list() {
      const found: SessionInfo[] = [];
      for (const { name } of await files.list(root)) {
        const entry = (await files.list(posix.join(root, name))).find((file) => file.name === "state");
        if (entry) found.push({ name, cwd: await this.cwd(name), lastUsedAt: entry.modifiedAt });
      }
      return found.sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    async remove(name) {
      const there = (await files.list(root)).some((entry) => entry.name === parseSessionName(name));
      begun.delete(name);
      if (there) await files.remove(directoryOf(name));
      return there;
    },
  };
}

function noStartDirectory(session: string): HoldfastError {
  return new HoldfastError("cwd-invalid", `session ${session} should begin in the current directory, which has been deleted`, {
    hint: "run the command from a directory that exists, or set terminal.cwd",
    facts: { session },
  });
}

function badStartDirectory(directory: string): HoldfastError {
  return new HoldfastError("cwd-invalid", `sessions should begin in ${directory}, which is not a directory in the sandbox`, {
    hint: "correct terminal.cwd, or run the command from a directory that exists",
    facts: { cwd: directory },
  });
}
