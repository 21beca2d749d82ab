/** @module Tasks that have a workspace or a sandbox, as far as this machine shows: what finished while no dispatcher ran has left them. */
import { describeError, HoldfastError } from "../base/errors.ts";
import { listDirectory } from "../base/list-directory.ts";
import type { Logger } from "../base/log.ts";
import type { Task } from "../board/task.ts";
import type { App } from "./create-app.ts";
import type { ProfileConfigs } from "./worker-directory.ts";

const TASK = /^t_[0-9a-f]{8}$/;

export interface LeftSandbox {
  readonly task: string;
  readonly profile: string;
}

/** Only those that the board knows. */
export async function leftBehind(app: App, log: Logger): Promise<string[]> {
  const { store, files } = await app.kanban();
  const boards = await store.listBoards({ archived: true });
  const workspaces = boards.flatMap(({ slug }) => listDirectory(files.workspaces(slug)));
  const sandboxes = (await leftSandboxes(app, log)).map(({ task }) => task);
  return (await knownTasks(app, [...workspaces, ...sandboxes])).map(({ id }) => id);
}

/** Those of names that are no task's are not for us. */
export async function knownTasks(app: App, names: readonly string[]): Promise<Task[]> {
  const { store } = await app.kanban();
  const ids = new Set(names.filter((name) => TASK.test(name)));
  const known = await Promise.all([...ids].map((id) => store.getTask(id).catch(unlessUnknown)));
  return known.filter((task) => task !== null);
}

/** Of this installation on this machine, each pair once. `profiles`: only theirs. */
export async function leftSandboxes(app: App, log: Logger, profiles?: ReadonlySet<string>): Promise<LeftSandbox[]> {
  const found: LeftSandbox[] = [];
  for (const { name } of await app.profiles.list()) {
    if (profiles !== undefined && !profiles.has(name)) continue;
    try {
      const own = await app.forProfile(name);
      const [driver, { install }] = await Promise.all([own.driver(), own.owner("default")]);
      const tasks = new Set((await driver.list({ install, profile: name })).map(({ owner }) => owner.task));
      found.push(...[...tasks].map((task) => ({ task, profile: name })));
    } catch (error) {
      // A profile or backend that does not work now must not keep the others from being tidied up.
      log.warn(`the sandboxes of ${name} could not be looked at: ${describeError(error)}`);
    }
  }
  return found;
}

/** @returns what removes those of a finished task, and says which profiles had one */
export function removeSandboxesOf(app: App, configs: Pick<ProfileConfigs, "configOf">) {
  return async ({ id }: Pick<Task, "id">, profiles: readonly string[]): Promise<string[]> => {
    const removed: string[] = [];
    for (const profile of profiles) {
      if ((await configs.configOf(profile)) === null) continue;
      const { removeTaskSandbox } = await import("./sandbox-worker.ts");
      if (await removeTaskSandbox(app, id, profile)) removed.push(profile);
    }
    return removed;
  };
}

function unlessUnknown(error: unknown): null {
  if (HoldfastError.isInstance(error) && error.code === "task-not-found") return null;
  throw error;
}
