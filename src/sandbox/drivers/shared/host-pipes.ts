/** @module Real pipes for child processes on the host. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, mkdtempSync, openSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { spawnChild } from "../../../base/child.ts";
import { describeError, HoldfastError, systemCode } from "../../../base/errors.ts";

const run = promisify(execFile);

/** Begins the names of directories in which pipes are being made. They last milliseconds, unless their maker is killed meanwhile. */
export const PIPE_PREFIX = "pipe-";

/** The two descriptors of one pipe: `theirs` is for a child, and is closed once the child has it. */
export interface HostPipe {
  readonly ours: number;
  readonly theirs: number;
}

/**
 * Pipes for the output of children. Node gives children socket pairs, on which `echo text >/dev/stderr` fails ("No such device or
 * address"), as scripts do every day. Named pipes opened and unlinked at once are true pipes, and nothing of them stays on the disk.
 */
export async function createOutputPipes(directory: string, count: number): Promise<HostPipe[]> {
  let scratch: string | undefined;
  let paths: string[] = [];
  const open: HostPipe[] = [];
  try {
    scratch = mkdtempSync(join(directory, PIPE_PREFIX));
    const parent = scratch;
    paths = Array.from({ length: count }, (_, index) => join(parent, String(index)));
    await run("mkfifo", ["-m", "600", ...paths]);
    for (const path of paths) open.push(openFromChild(path));
    return open;
  } catch (error) {
    for (const pipe of open) discardHostPipe(pipe);
    if (isMissingProgram(error)) {
      throw new HoldfastError("spawn-failed", "mkfifo, which makes the pipes for the output of commands, is not on the PATH", {
        hint: "install mkfifo, a part of coreutils, and make sure it is on the PATH",
        cause: error,
      });
    }
    throw new HoldfastError("state-write-failed", `cannot make pipes in ${directory}: ${failure(error)}`, {
      hint: limitHint(error),
      facts: { directory, systemCode: systemCode(error) },
      cause: error,
    });
  } finally {
    // One by one: removing recursively would need a free descriptor, of which there may be none.
    for (const path of paths) rmSync(path, { force: true });
    if (scratch !== undefined) removeEmpty(scratch);
  }
}

/**
 * A pipe for the input of a child. A named one would not do: `cat /dev/stdin` opens it once more, and if all input was written and our end
 * closed by then, that waits for a writer for ever. So a short-lived shell makes an unnamed pipe, and we open its ends from there.
 */
export async function createInputPipe(): Promise<HostPipe> {
  // Privileged mode ignores BASH_ENV and inherited functions. Node's pipes are sockets, and bash takes a socket for a login from afar:
  // without --norc it would read ~/.bashrc. Not descriptor 3: under a low limit on open files bash takes that one for its own end.
  const maker = spawnChild("bash", ["--norc", "-p", "-c", "exec 9< <(:) && echo made && read -r"], { stdio: ["pipe", "pipe", "ignore"] });
  try {
    // Without a free descriptor it has no streams, and fails here.
    await once(maker, "spawn");
    const made = Promise.withResolvers<unknown>();
    maker.stdout.once("data", made.resolve);
    maker.once("exit", () => made.reject(new Error("bash ended before it had made one")));
    await made.promise;
    return openToChild(`/proc/${maker.pid}/fd/9`);
  } catch (error) {
    throw new HoldfastError("spawn-failed", `cannot make a pipe for the input of a command: ${describeError(error)}`, {
      hint: limitHint(error),
      cause: error,
    });
  } finally {
    maker.stdin?.end();
  }
}

export function discardHostPipe(pipe: HostPipe): void {
  closeSync(pipe.ours);
  closeSync(pipe.theirs);
}

/** Without O_NONBLOCK on our end, opening would wait for the other end, and reading would block the whole process. */
function openFromChild(path: string): HostPipe {
  const ours = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return { ours, theirs: openSync(path, constants.O_WRONLY) };
  } catch (error) {
    closeSync(ours);
    throw error;
  }
}

function openToChild(path: string): HostPipe {
  const theirs = openSync(path, constants.O_RDONLY);
  try {
    return { ours: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK), theirs };
  } catch (error) {
    closeSync(theirs);
    throw error;
  }
}

function removeEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch (error) {
    // The sandbox was removed at this moment.
    if (systemCode(error) !== "ENOENT") throw error;
  }
}

function isMissingProgram(error: unknown): boolean {
  return systemCode(error) === "ENOENT" && (error as NodeJS.ErrnoException).syscall?.startsWith("spawn") === true;
}

function limitHint(error: unknown): string | undefined {
  return ["EMFILE", "ENFILE"].includes(systemCode(error) ?? "") ? "raise the limit on open files (`ulimit -n`)" : undefined;
}

/** mkfifo's own words are on its standard error; the exception only says that it failed. */
function failure(error: unknown): string {
  const said = (error as { stderr?: unknown }).stderr;
  const lastLine = typeof said === "string" ? said.trim().split("\n").at(-1) : undefined;
  return lastLine || describeError(error);
}
