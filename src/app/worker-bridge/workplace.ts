/**
 * @module Where a worker works: on backends that share the host's files in the workspace itself; in a sandbox of the task with files of its
 * own the workspace is mounted; in the one that a profile shares it is copied in and back, since nothing can be mounted into what is there.
 */
import { homedir } from "node:os";
import { posix } from "node:path";
import { describeError, HoldfastError } from "../../base/errors.ts";
import type { Job } from "../../dispatcher/job.ts";
import type { Lease } from "../../lifecycle/lifecycle.ts";
import { parseVolume, WORKSPACE } from "../../sandbox/drivers/docker/mounts.ts";
import { describeDifference } from "../../sandbox/spec.ts";
import type { App } from "../create-app.ts";
import { useSandbox } from "../sandbox-of-task.ts";
import { readTaskSettings, writeTaskSettings } from "../task-settings.ts";

export interface Workplace {
  readonly lease: Lease;
  /** The workspace in the sandbox. */
  readonly inside: string;
  /** The sandbox has files of its own, so neither the program nor the database is there. */
  readonly isolated: boolean;
  /** Brings to the host what the worker has made so far. What it removed stays there. */
  bringBack(): Promise<void>;
  /** Takes the set-user-id bits from what the worker has made on the host, when nothing of it lives any more. */
  disarm(): Promise<void>;
}

const VOLUMES = "terminal.docker_volumes";
const nothing = async () => {};
const alreadyThere = { bringBack: nothing, disarm: nothing };

/** @throws also `busy` when the task's sandbox was made for another workspace and is in use */
export async function openWorkplace(app: App, job: Job, { task }: { task: string }): Promise<Workplace> {
  const isolated = (await (await app.forTask(task)).driver()).capabilities.isolatesFiles;
  if (!isolated) return { lease: await useSandbox(app, task), inside: job.workspace, isolated, ...alreadyThere };
  if (job.sandbox === "task") {
    return { lease: await mounted(app, job), inside: WORKSPACE, isolated, ...alreadyThere, disarm: () => disarmWorkspace(app, job) };
  }
  const lease = await useSandbox(app, task);
  const { files } = lease.sandbox;
  const inside = posix.join(WORKSPACE, job.task);
  // Files of an earlier run that the host no longer has must not come back.
  await files.remove(inside, { recursive: true });
  await files.putTree(job.workspace, inside);
  // What is copied has no such bits.
  return { lease, inside, isolated, ...alreadyThere, bringBack: async () => void (await files.getTree(inside, job.workspace)) };
}

/** For a worker in the sandbox of its task, where the workspace was mounted. */
export async function disarmWorkspace(app: App, { task, workspace }: Pick<Job, "task" | "workspace">): Promise<void> {
  const driver = await (await app.forTask(task)).driver();
  await driver.disarm?.(workspace);
}

async function mounted(app: App, job: Job): Promise<Lease> {
  await rememberMount(app, job);
  const lease = await useSandbox(app, job.task);
  if (elsewhere(lease) === undefined) return usable(lease, job);
  await refuseIfInUse(lease, job);
  await lease.cleanup({ forceRemove: true });
  const again = await useSandbox(app, job.task);
  const still = elsewhere(again);
  if (still === undefined) return usable(again, job);
  throw wrongPlace(job, describeDifference(still));
}

/** Whoever a worker is in there, it should learn before it begins that it cannot work. */
async function usable(lease: Lease, { task, workspace }: Job): Promise<Lease> {
  const { exitCode, stdout } = await lease.sandbox.run(`id -u; [[ -d ${WORKSPACE} && -w ${WORKSPACE} && -x ${WORKSPACE} ]]`, {
    session: `start-${task}`,
  });
  await lease.sandbox.sessions.remove(`start-${task}`);
  if (exitCode === 0) return lease;
  throw new HoldfastError(
    "file-failed",
    `the worker of ${task} could not write to ${workspace}: in the sandbox it is user ${stdout.trim()}`,
    {
      hint: "set terminal.docker_run_as_host_user to true, or let that user write to the directory",
      facts: { task, workspace },
    },
  );
}

/** In the task's own settings, so that everybody who uses its sandbox means the same one. */
async function rememberMount(app: App, { task, workspace }: Job): Promise<void> {
  if (workspace.includes(":")) {
    throw new HoldfastError("config-bad-value", `${workspace} cannot be mounted into a sandbox: its path has a colon`, {
      hint: "use another directory, or a worker with sandbox: profile",
      facts: { workspace },
    });
  }
  const { values } = await app.config();
  const others = values.terminal.docker_volumes.filter((entry) => parseVolume(entry, { home: homedir() }).target !== WORKSPACE);
  const known = readTaskSettings(app.profile.home, task)?.settings ?? {};
  const wanted = JSON.stringify([...others, `${workspace}:${WORKSPACE}`]);
  if (known[VOLUMES] !== wanted) await writeTaskSettings(app.profile.home, { task, settings: { ...known, [VOLUMES]: wanted } });
}

/** What is mounted as the workspace is not what it should be, or that cannot be told. */
function elsewhere({ drift }: Lease) {
  return drift.find(({ setting }) => setting === `mount at ${WORKSPACE}` || setting === "fingerprint");
}

async function refuseIfInUse({ sandbox, drift }: Lease, job: Job): Promise<void> {
  const status = await sandbox.status().catch((error: unknown) => {
    throw wrongPlace(job, `and it cannot be told who uses it (${describeError(error)})`);
  });
  // One of the leases is ours.
  if (status === null || (status.leases.length <= 1 && status.calls + status.processes + status.ptys === 0)) return;
  throw wrongPlace(job, `${drift.map(describeDifference).join(", ")}; it is in use`);
}

function wrongPlace({ task, workspace }: Job, why: string): HoldfastError {
  return new HoldfastError("busy", `the sandbox of task ${task} has another workspace than ${workspace}: ${why}`, {
    hint: `\`holdfast sandbox reset ${task}\` makes a new one`,
    facts: { task, workspace },
  });
}
