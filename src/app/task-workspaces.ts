/** @module The workspaces of the tasks of this installation. */
import type { Logger } from "../base/log.ts";
import { createWorkspaces, type SweptWorkspaces } from "../dispatcher/workspaces/create-workspaces.ts";
import type { App } from "./create-app.ts";
import { removeForeign } from "./foreign-files.ts";

export async function openWorkspaces(app: App, log: Logger = app.log): Promise<SweptWorkspaces> {
  const { store, files } = await app.kanban();
  return createWorkspaces({ store, files, clock: app.clock, log, removeForeign: removeForeign(app), git: { path: app.environment.PATH } });
}
