/** @module To what a worker in a sandbox can write on the host: its workspace, and the directories that its profile mounts (K29). */
import { homedir } from "node:os";
import type { Claim } from "../board/claims.ts";
import type { NewSandboxPlace } from "../board/sandbox-places.ts";
import type { LaunchOptions } from "../dispatcher/worker.ts";
import { parseVolume, WORKSPACE } from "../sandbox/drivers/docker/mounts.ts";
import type { App } from "./create-app.ts";
import { realPath } from "./real-path.ts";
import { sandboxTask } from "./worker-identity.ts";

/** Null for a worker that has the host's files anyway. */
export async function reachOf(app: App, { run, task }: Claim, { worker, workspace }: LaunchOptions): Promise<NewSandboxPlace[] | null> {
  if (worker.sandbox === "none") return null;
  const profile = await app.forProfile(run.profile);
  const own = await profile.forTask(sandboxTask({ sandbox: worker.sandbox, task: task.id }));
  if (!(await own.driver()).capabilities.isolatesFiles) return null;
  const { docker_volumes: volumes } = (await own.config()).values.terminal;
  const mounted = volumes
    .map((entry) => parseVolume(entry, { home: homedir() }))
    .filter(({ source, readOnly }) => source.startsWith("/") && !readOnly)
    // In the sandbox of a task that is the workspace of this run, whatever an earlier one has left in the settings of the task.
    .filter(({ target }) => worker.sandbox === "profile" || target !== WORKSPACE);
  return [
    { path: realPath(workspace.path), managed: workspace.kind !== "dir" },
    ...mounted.map(({ source }) => ({ path: realPath(source), managed: false })),
  ];
}
