/** @module Real pipes for child processes on the host. */
import { execFile, spawn } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describeError, HoldfastError, systemCode } from "../../../base/errors.ts";

const run = promisify(execFile);

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
  const open: HostPipe[] = [];
  try {
    scratch = mkdtempSync(join(directory, "pipe-"));
    const parent = scratch;
    const paths = Array.from({ length: count }, (_, index) => join(parent, String(index)));
    await run("mkfifo", ["-m", "600", ...paths]);
    for (const path of paths) open.push(openFromChild(path));
    return open;
  } catch (error) {
    for (const pipe of open) discardHostPipe(pipe);
    throw new HoldfastError("state-write-failed", `cannot make pipes in ${directory}: ${failure(error)}`, {
      facts: { directory, systemCode: systemCode(error) },
      cause: error,
    });
  } finally {
    if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * A pipe for the input of a child. A named one would not do: `cat /dev/stdin` opens it once more, and if all input was written and our end
 * closed by then, that waits for a writer for ever. So a short-lived shell makes an unnamed pipe, and we open its ends from there.
 */
export async function createInputPipe(): Promise<HostPipe> {
  // Privileged mode ignores BASH_ENV and inherited functions. Node's pipes are sockets, and bash takes a socket for a login from afar:
  // without --norc it would read ~/.bashrc.
  const maker = spawn("bash", ["--norc", "-p", "-c", "exec 3< <(:) && echo made && read -r"], { stdio: ["pipe", "pipe", "ignore"] });
  const made = Promise.withResolvers<unknown>();
  maker.stdout.once("data", made.resolve);
  maker.once("error", made.reject);
  maker.once("exit", () => made.reject(new Error("bash ended before it had made one")));
  // EPIPE: it has ended already.
  maker.stdin.on("error", () => {});
  try {
    await made.promise;
    return openToChild(`/proc/${maker.pid}/fd/3`);
  } catch (error) {
    throw new HoldfastError("spawn-failed", `cannot make a pipe for the input of a command: ${describeError(error)}`, { cause: error });
  } finally {
    maker.stdin.end();
  }
}

export function discardHostPipe(pipe: HostPipe): void {
  closeSync(pipe.ours);
  closeSync(pipe.theirs);
}

/** Without O_NONBLOCK on our end, opening would wait for the other end, and reading would block the whole process. */
function openFromChild(path: string): HostPipe {
  const ours = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const theirs = openSync(path, constants.O_WRONLY);
  return { ours, theirs };
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

/** mkfifo's own words are on its standard error; the exception only says that it failed. */
function failure(error: unknown): string {
  const said = (error as { stderr?: unknown }).stderr;
  const lastLine = typeof said === "string" ? said.trim().split("\n").at(-1) : undefined;
  return lastLine || describeError(error);
}
