/** @module Tasks that have a workspace or a sandbox, as far as this machine shows: what finished while no dispatcher ran has left them. */
import { describeError, HoldfastError } from "../base/errors.ts";
import { listDirectory } from "../base/list-directory.ts";
import type { Logger } from "../base/log.ts";
import type { App } from "./create-app.ts";

const TASK = /^t_[0-9a-f]{8}$/;

/** Only those that the board knows. */
export async function leftBehind(app: App, log: Logger): Promise<string[]> {
  const { store, files } = await app.kanban();
  const boards = await store.listBoards({ archived: true });
  const workspaces = boards.flatMap(({ slug }) => listDirectory(files.workspaces(slug)));
  const names = new Set([...workspaces, ...(await sandboxes(app, log))].filter((name) => TASK.test(name)));
  const known = await Promise.all([...names].map((id) => store.getTask(id).catch(unlessUnknown)));
  return known.flatMap((task) => task?.id ?? []);
}

async function sandboxes(app: App, log: Logger): Promise<string[]> {
  const found: string[] = [];
  for (const { name } of await app.profiles.list()) {
    try {
      const own = await app.forProfile(name);
      const [driver, { install }] = await Promise.all([own.driver(), own.owner("default")]);
      found.push(...(await driver.list({ install, profile: name })).map(({ owner }) => owner.task));
    } catch (error) {
      // A profile or backend that does not work now must not keep the others from being tidied up.
      log.warn(`the sandboxes of ${name} could not be looked at: ${describeError(error)}`);
    }
  }
  return found;
}

function unlessUnknown(error: unknown): null {
  if (HoldfastError.isInstance(error) && error.code === "task-not-found") return null;
  throw error;
}
