/** @module A worker in a sandbox: a background process there, found again by its name, that reaches the board from wherever it is (S18, K27). */
import { describeError, HoldfastError } from "../base/errors.ts";
import { createLogger } from "../base/log.ts";
import type { Run } from "../board/runs.ts";
import { type Environment, processEnvironment } from "../config/environment.ts";
import type { StartedWorker, StartOptions, WorkerStatus } from "../dispatcher/host-worker.ts";
import { type Job, MARK } from "../dispatcher/job.ts";
import type { SandboxAddress, WorkerRecord } from "../dispatcher/worker.ts";
import type { SandboxRef } from "../sandbox/driver.ts";
import type { Processes, ProcessInfo } from "../sandbox/process.ts";
import { showInstead } from "../sandbox/shown-command.ts";
import { type App, createApp, sandboxDir } from "./create-app.ts";
import { sandboxRemove } from "./operations/sandbox-remove.ts";
import { ownProgram } from "./own-program.ts";
import { type Bridge, openBridge } from "./worker-bridge/bridge.ts";
import { endRun, endRunOfOlder, processName } from "./worker-bridge/end-run.ts";
import { disarmWorkspace, openWorkplace, type Workplace } from "./worker-bridge/workplace.ts";
import { localVariables, supervisorVariables } from "./worker-environment.ts";
import { DATABASE_VARIABLE, sandboxTask } from "./worker-identity.ts";

/** Its own `holdfast` comes first, whatever the sandbox's session has as its path. */
const WITH_PATH = 'PATH="${HOLDFAST_BIN:+$HOLDFAST_BIN:}$PATH"; export PATH; unset HOLDFAST_BIN; exec "$@"';
/** The log of the task keeps less than that. */
const KEEP_BYTES = 8 * 1024 * 1024;

export async function startInSandbox(job: Job, options: StartOptions): Promise<StartedWorker> {
  const app = await openApp(job, options);
  try {
    return await start(app, job, options);
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** What runs on this machine without files of its own inherits what its starter has, so that is as little as a worker may know (K28). */
async function openApp({ workspace: cwd, profile }: Job, { clock, onOutput }: StartOptions): Promise<App> {
  const environment = withoutMark(processEnvironment());
  // Whoever looks after the task reads its log, and nobody another one.
  const log = createLogger({ clock, level: "warn", sink: ({ message }) => sayTo(onOutput, message) });
  const given = { cwd, profile, program: "holdfast worker", clock, log, strictDrift: true };
  const open = (variables: Environment) => createApp({ ...given, environment: variables });
  const app = await open(environment);
  if ((await app.driver()).capabilities.isolatesFiles) return app;
  await app.close();
  return await open(localVariables(environment));
}

async function start(app: App, job: Job, { clock, onOutput, onDrift, record }: StartOptions): Promise<StartedWorker> {
  const task = sandboxTask(job);
  const workplace = await openWorkplace(app, job, { task });
  const { lease, inside, isolated } = workplace;
  if (isolated !== job.isolated) throw elsewhere(job);
  const { processes } = lease.sandbox;
  if (lease.foundDrift) onDrift({ sandbox: task, ...lease.foundDrift });
  const say = (line: string) => sayTo(onOutput, line);
  const settled = { lastWord: false };
  const bridge = isolated ? await openBridgeTo(app, job, { workplace, clock, say, settled }) : null;
  let address: SandboxAddress;
  let info: ProcessInfo;
  try {
    address = await addressOf(await app.forTask(task), lease.sandbox.ref);
    await record(address);
    // In this very sandbox: a lease would take a new one for one that is lost meanwhile, and nobody would look there.
    const pinned = await (await (await app.forTask(task)).lifecycle()).visit(address.ref);
    const command = ["sh", "-c", WITH_PATH, "sh", ...job.command];
    const env = {
      ...(await variablesFor(job, inside, bridge)),
      HOLDFAST_BIN: bridge?.bin ?? job.env.HOLDFAST_BIN ?? "",
      HOLDFAST_WORKSPACE: inside,
      [MARK]: job.mark,
    };
    const given = { name: processName(job.run), cwd: inside, env, keepBytes: KEEP_BYTES };
    info = await pinned.processes.start(command, showInstead(given, job.command.join(" ")));
  } catch (error) {
    await bridge?.close();
    throw error;
  }
  const output = copyOutput(processes, info, onOutput).catch((error: unknown) => say(`its output was lost: ${describeError(error)}`));
  return {
    ended: statusOf(processes, info, say),
    async end(graceMs) {
      try {
        await endRun(app, address, { task: job.task, run: job.run, mark: job.mark, graceMs });
        await workplace.disarm().catch((error: unknown) => say(`files in the workspace may still be set-user-id: ${describeError(error)}`));
        await output;
        await bridge?.close();
        if (!settled.lastWord)
          await workplace.bringBack().catch((error: unknown) => say(`the workspace was not copied back: ${describeError(error)}`));
        // Its output is in the log of the task.
        await processes.remove(info.id).catch(() => {});
      } finally {
        await app.close();
      }
    },
  };
}

function sayTo(onOutput: StartOptions["onOutput"], line: string): void {
  void onOutput(Buffer.from(`holdfast: ${line}\n`));
}

interface BridgeParts extends Pick<StartOptions, "clock"> {
  readonly workplace: Workplace;
  readonly say: (line: string) => void;
  /** Once the worker has said its last word, the workspace is for whoever comes next. */
  readonly settled: { lastWord: boolean };
}

function openBridgeTo(app: App, job: Job, { workplace, clock, say, settled }: BridgeParts): Promise<Bridge> {
  return openBridge(job, {
    sandbox: workplace.lease.sandbox,
    inside: workplace.inside,
    program: ownProgram(),
    // Also what says which backend a profile has: it decides to whom a worker may hand on.
    plain: { ...supervisorVariables(app.environment, job.home), ...cacheOf(app.environment) },
    clock,
    say,
    beforeLastWord: () => workplace.bringBack(),
    afterLastWord: () => {
      settled.lastWord = true;
    },
  });
}

/** For a run whose supervisor is gone. @throws when it cannot be made sure that nothing of it lives */
export async function endRunInSandbox(
  app: App,
  run: Run,
  { sandbox, mark, address, workspace }: WorkerRecord,
  { graceMs }: { graceMs: number },
): Promise<void> {
  const { task } = run;
  const options = { task, run: run.id, mark, graceMs };
  if (address) await endRun(app, address, options);
  else await asProfile(app, run.profile, (own) => endRunOfOlder(own, sandboxTask({ sandbox, task }), options));
  if (sandbox !== "task") return;
  await asProfile(app, run.profile, (own) => disarmWorkspace(own, { task, workspace })).catch((error: unknown) =>
    app.log.warn(`files in the workspace of ${task} may still be set-user-id: ${describeError(error)}`, { task, workspace }),
  );
}

/**
 * For a task that is finished: nobody comes back to what it has of its own. The workspace is no part of it.
 * False if it had none. @throws what kept it from being removed
 */
export async function removeTaskSandbox(app: App, task: string, profile: string): Promise<boolean> {
  return asProfile(app, profile, async (own) => {
    try {
      await sandboxRemove.run(own, { task, force: true, files: true });
      return true;
    } catch (error) {
      if (HoldfastError.isInstance(error) && error.code === "sandbox-not-found") return false;
      throw error;
    }
  });
}

async function asProfile<T>(app: App, profile: string, action: (own: App) => Promise<T>): Promise<T> {
  const own = await app.forProfile(profile);
  try {
    return await action(own);
  } finally {
    await own.close();
  }
}

/** What it was made with is not needed to find it, and long. */
async function addressOf(app: App, { settings: _, ...ref }: SandboxRef): Promise<SandboxAddress> {
  const [driver, { values }] = await Promise.all([app.driver(), app.config()]);
  return {
    ref: { ...ref, state: "running" },
    directory: sandboxDir(app.profile, values.terminal.sandbox_dir),
    access: (await driver.access?.()) ?? null,
  };
}

/** Null for both when the sandbox was lost with it. */
async function statusOf(processes: Processes, { id }: ProcessInfo, say: (line: string) => void): Promise<WorkerStatus> {
  try {
    const { exitCode, signal } = await processes.wait(id);
    return { code: signal === null ? exitCode : null, signal };
  } catch (error) {
    say(`it is not known how the worker ended: ${describeError(error)}`);
    return { code: null, signal: null };
  }
}

async function copyOutput(processes: Processes, info: ProcessInfo, onOutput: StartOptions["onOutput"]): Promise<void> {
  for await (const { bytes } of processes.logs(info.id, { follow: true })) await onOutput(bytes);
}

/** What this process starts on the host for a sandbox, such as its daemon, is not of the run and must outlive it. */
function withoutMark({ [MARK]: _, ...environment }: Environment): Environment {
  return environment;
}

/** Where Holdfast is on the host means nothing in a sandbox with files of its own, and images are in other places there. */
async function variablesFor({ env, workspace }: Job, inside: string, bridge: Bridge | null): Promise<Readonly<Record<string, string>>> {
  if (bridge === null) return env;
  const { HOLDFAST_HOME: _, [DATABASE_VARIABLE]: __, HOLDFAST_IMAGES: images, ...others } = env;
  if (images === undefined) return others;
  const paths = (JSON.parse(images) as string[]).map((path) => {
    return path.startsWith(`${workspace}/`) ? inside + path.slice(workspace.length) : bridge.bringAttachments(path);
  });
  return { ...others, HOLDFAST_IMAGES: JSON.stringify(await Promise.all(paths)) };
}

/** What it may hand on was decided by where it was to run. */
function elsewhere({ profile, isolated }: Job): HoldfastError {
  const other = isolated ? "the backend that it has now shares the host's files" : "the backend that it has now has files of its own";
  return new HoldfastError("spawn-failed", `the configuration of ${profile} changed while its worker was started: ${other}`, {
    hint: "the next attempt goes by the new configuration",
    facts: { profile },
  });
}

/** Each verb is a start of the program. */
function cacheOf({ NODE_COMPILE_CACHE }: Environment): Record<string, string> {
  return NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {};
}
