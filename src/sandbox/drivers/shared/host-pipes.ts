/** @module Real pipes for child processes on the host. */
import { execFile } from "node:child_process";
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

export type PipeDirection = "from-child" | "to-child";

/**
 * Node gives children socket pairs, on which `echo text >/dev/stderr` fails ("No such device or address"), as scripts do every day.
 * Named pipes opened and unlinked at once are true pipes, and nothing of them stays on the disk.
 */
export async function createHostPipes(directory: string, directions: readonly PipeDirection[]): Promise<HostPipe[]> {
  let scratch: string | undefined;
  const open: HostPipe[] = [];
  try {
    scratch = mkdtempSync(join(directory, "pipe-"));
    const paths = directions.map((_, index) => join(scratch as string, String(index)));
    await run("mkfifo", ["-m", "600", ...paths]);
    for (const [index, path] of paths.entries()) open.push(directions[index] === "to-child" ? openToChild(path) : openFromChild(path));
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

/** Opening for both ways never waits, and holds the pipe while the two proper ends are opened. */
function openToChild(path: string): HostPipe {
  const holder = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const theirs = openSync(path, constants.O_RDONLY);
  const ours = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  closeSync(holder);
  return { ours, theirs };
}

/** mkfifo's own words are on its standard error; the exception only says that it failed. */
function failure(error: unknown): string {
  const said = (error as { stderr?: unknown }).stderr;
  const lastLine = typeof said === "string" ? said.trim().split("\n").at(-1) : undefined;
  return lastLine || describeError(error);
}
