/** @module Makes the database of the boards, and says what is missing before work can begin. */
import * as z from "zod/mini";
import { defineOperation } from "../operation.ts";
import { profileWorkers } from "../upkeep/profile-workers.ts";

export const boardInit = defineOperation({
  name: "board.init",
  summary: "Make the database of the boards, say where it is, and which profiles can work",
  input: z.strictObject({}),
  output: z.object({
    database: z.string(),
    board: z.string(),
    profiles: z.readonly(z.array(z.object({ name: z.string(), spawnable: z.boolean(), problem: z.nullable(z.string()) }))),
    /** What to do next. */
    next: z.array(z.string()),
  }),
  async run(app) {
    const kanban = await app.kanban();
    const { slug } = await kanban.existingBoard();
    const profiles = await profileWorkers(app);
    const able = profiles.find(({ spawnable }) => spawnable);
    const other = profiles.find(({ name }) => name !== "default")?.name;
    const next = [
      ...(able || other !== undefined ? [] : ["`holdfast profile create NAME` makes a profile for the work"]),
      ...(able ? [] : [`\`holdfast config set worker.command '["PROGRAM"]' -p ${other ?? "NAME"}\` says what its worker is`]),
      `\`holdfast kanban create TITLE --assignee ${able?.name ?? other ?? "NAME"}\` makes a task`,
      "`holdfast kanban dispatch --watch` puts profiles to work",
    ];
    return { database: kanban.store.location, board: slug, profiles, next };
  },
});
