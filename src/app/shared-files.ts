/** @module Files of boards that another database may know: only it could say whether somebody needs them (K30). */
import { existsSync } from "node:fs";
import type { App } from "./create-app.ts";

/** One that a flag or variable names may be for this call only, and from one that is set for good the home's own may be gone back to. */
export async function mayShareFiles(app: App): Promise<boolean> {
  const shared = app.profile.name === "default" ? app : await app.forProfile("default");
  if (["flag", "environment"].includes((await shared.config()).explain("kanban.database").source.kind)) return true;
  const { database, files } = await app.kanban();
  return database !== files.database && existsSync(files.database);
}
