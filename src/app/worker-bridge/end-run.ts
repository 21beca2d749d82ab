/** @module Ends all that lives of a run in a sandbox, and makes sure that it is gone (K18). */
import { delay } from "../../base/clock.ts";
import { describeError, HoldfastError } from "../../base/errors.ts";
import { randomId } from "../../base/ids.ts";
import { MARK } from "../../dispatcher/job.ts";
import type { SandboxAddress } from "../../dispatcher/worker.ts";
import type { Processes } from "../../sandbox/process.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { App } from "../create-app.ts";
import { type DriverAt, openDriverAt } from "../driver-at.ts";

export interface EndOptions {
  readonly run: number;
  /** Of the board. */
  readonly task: string;
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

/** Where it was recorded to be, whatever is configured by now. @throws when it cannot be made sure that nothing is left */
export async function endRun(app: App, address: SandboxAddress, options: EndOptions): Promise<void> {
  await using at = await openDriverAt(app, address);
  const sandbox = await enter(at, address).catch((error: unknown) => Promise.reject(notAsked(error, address, options)));
  if (sandbox !== null) await endIn(app, sandbox, at, options);
}

/** By an older version, which did not record where: in every sandbox that the task has where its profile points now. */
export async function endRunOfOlder(app: App, of: string, options: EndOptions): Promise<void> {
  const own = await app.forTask(of);
  const [driver, owner, { visit }] = await Promise.all([own.driver(), own.owner(of), own.lifecycle()]);
  for (const ref of await driver.list(owner)) {
    const sandbox = ref.state === "running" ? await visit(ref).catch(unlessGone) : null;
    if (sandbox !== null) await endIn(app, sandbox, { driver }, options);
  }
}

/** Null when nothing runs in it, for certain. */
async function enter({ driver, visit }: DriverAt, { ref, access }: SandboxAddress): Promise<Sandbox | null> {
  const state = await driver.stateOf(ref);
  if (state === "running") return await visit({ ...ref, state }).catch(unlessGone);
  // Nothing lives in one that is stopped, nor in one that is gone, if it is gone from where it was.
  const engine = access === null ? null : ((await driver.access?.())?.engine ?? null);
  if (state === "stopped" || engine === (access?.engine ?? null)) return null;
  throw new HoldfastError("engine-not-responding", `another engine answers there now (${engine}), and that one does not know`, {
    facts: { engine },
  });
}

/** What is there is not known, and so the worker does not count as dead. */
function notAsked(error: unknown, { ref, access }: SandboxAddress, { run, task }: EndOptions): HoldfastError {
  const where = access === null ? ref.driver : `${ref.driver} (${access.engine})`;
  const known = HoldfastError.isInstance(error) ? error : null;
  return new HoldfastError(
    known?.code ?? "internal",
    `run ${run} of ${task} does not count as dead: its sandbox ${ref.id.slice(0, 12)} on ${where} cannot be asked: ${describeError(error)}`,
    {
      hint: `bring that back, and its task goes on by itself; if it is gone for good: holdfast kanban reclaim ${task} --gone`,
      facts: { ...known?.facts, run, task, sandbox: ref.id, backend: ref.driver, engine: access?.engine ?? null },
      cause: error,
    },
  );
}

async function endIn(app: App, sandbox: Sandbox, { driver }: Pick<DriverAt, "driver">, options: EndOptions): Promise<void> {
  // On backends that share the host's files its processes are there, too, and this one carries the mark.
  const except = driver.capabilities.isolatesFiles ? 0 : process.pid;
  try {
    await endTrees(sandbox.processes, options);
    await sweep(app, sandbox, { ...options, except });
  } catch (error) {
    unlessGone(error);
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
