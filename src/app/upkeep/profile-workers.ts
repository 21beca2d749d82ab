/** @module Which profiles can work by themselves (K4). */
import { describeError } from "../../base/errors.ts";
import type { App } from "../create-app.ts";
import { workerSettings } from "../worker-directory.ts";

export interface ProfileWorker {
  readonly name: string;
  /** It has a `worker.command`. Without one, people or other programs take its tasks. */
  readonly spawnable: boolean;
  /** Why its configuration cannot be read. */
  readonly problem: string | null;
}

export async function profileWorkers(app: App): Promise<ProfileWorker[]> {
  return await Promise.all((await app.profiles.list()).map(({ name }) => workerOf(app, name)));
}

async function workerOf(app: App, name: string): Promise<ProfileWorker> {
  try {
    const own = name === app.profile.name ? app : await app.forProfile(name);
    const { command } = workerSettings(await own.config());
    return { name, spawnable: command.length > 0, problem: null };
  } catch (error) {
    return { name, spawnable: false, problem: describeError(error) };
  }
}
