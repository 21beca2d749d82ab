/** @module Ends all that lives of a run in a sandbox, and makes sure that it is gone (K18). */
import { delay } from "../../base/clock.ts";
import { HoldfastError } from "../../base/errors.ts";
import { randomId } from "../../base/ids.ts";
import { MARK } from "../../dispatcher/job.ts";
import type { SandboxRef } from "../../sandbox/driver.ts";
import type { Processes } from "../../sandbox/process.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { App } from "../create-app.ts";

export interface EndOptions {
  /** Of the sandbox. */
  readonly task: string;
  readonly run: number;
  readonly mark: string;
  readonly graceMs: number;
}

const POLL_MS = 100;
const KILL_LIMIT_MS = 10_000;

/**
 * Bash without any program. Signals every process that carries the mark, and prints their numbers. What the daemon's tree no longer shows is
 * found like that: the worker of a daemon that was killed, or that killed its keeper.
 */
const SWEEP = `
for entry in /proc/[0-9]*; do
  pid=\${entry#/proc/}
  [[ $pid == "$$" || $pid == "$3" ]] && continue
  while IFS= read -r -d '' each; do
    if [[ $each == "$1" ]]; then
      kill -s "$2" "$pid" && kill -s CONT "$pid"
      printf '%s\\n' "$pid"
      break
    fi
  done <"$entry/environ"
done 2>/dev/null
exit 0`.trim();

export function processName(run: number): string {
  return `run-${run}`;
}

/** @throws when it cannot be made sure that nothing is left */
export async function endRun(app: App, options: EndOptions): Promise<void> {
  const own = await app.forTask(options.task);
  const [driver, owner, lifecycle] = await Promise.all([own.driver(), own.owner(options.task), own.lifecycle()]);
  // A task may have several, of processes that did not want to share. In one that is stopped nothing lives.
  const running = (await driver.list(owner)).filter(({ state }) => state === "running");
  // On backends that share the host's files its processes are there, too, and this one carries the mark.
  const except = driver.capabilities.isolatesFiles ? 0 : process.pid;
  const visit = (ref: SandboxRef) => lifecycle.visit(ref).catch(unlessGone);
  for (const ref of running) {
    const sandbox = await visit(ref);
    if (sandbox === null) continue;
    try {
      await endTrees(sandbox.processes, options);
      await sweep(app, sandbox, { ...options, except });
    } catch (error) {
      unlessGone(error);
    }
  }
}

/** The daemon knows the whole tree of each, also of one that has ended and left something behind. */
async function endTrees(processes: Processes, { run, graceMs }: EndOptions): Promise<void> {
  try {
    const mine = (await processes.list()).filter(({ name }) => name === processName(run));
    await Promise.all(mine.map(({ id }) => processes.kill(id, { graceMs })));
  } catch (error) {
    // Without a daemon there are no trees; one that was forgotten meanwhile had ended.
    if (!(HoldfastError.isInstance(error) && ["daemon-missing", "process-not-found"].includes(error.code))) throw error;
  }
}

async function sweep({ clock }: App, sandbox: Sandbox, { run, mark, graceMs, except }: EndOptions & { except: number }): Promise<void> {
  // Its own: a dispatcher and a person may end the same run at once.
  const session = `end-${run}-${randomId(4)}`;
  const look = async (signal: string): Promise<string[]> => {
    const { stdout, exitCode } = await sandbox.run(["bash", "-c", SWEEP, "bash", `${MARK}=${mark}`, signal, String(except)], { session });
    if (exitCode !== 0)
      throw new HoldfastError("internal", `it cannot be seen what run ${run} left in its sandbox`, { facts: { exitCode } });
    return stdout.split("\n").filter(Boolean);
  };
  const graceEnd = clock.monotonic() + graceMs;
  let left = await look("TERM");
  while (left.length > 0 && clock.monotonic() < graceEnd) {
    await delay(clock, POLL_MS);
    left = await look("0");
  }
  const end = clock.monotonic() + KILL_LIMIT_MS;
  while (left.length > 0) {
    if (clock.monotonic() > end) {
      throw new HoldfastError("internal", `processes ${left.join(", ")} of run ${run} could not be ended in the sandbox`, {
        facts: { run, pids: left },
      });
    }
    left = await look("KILL");
    if (left.length > 0) await delay(clock, POLL_MS);
  }
  await sandbox.sessions.remove(session);
}

/** With the sandbox everything in it went. */
function unlessGone(error: unknown): null {
  if (HoldfastError.isInstance(error) && ["sandbox-not-found", "sandbox-stopped"].includes(error.code)) return null;
  throw error;
}
