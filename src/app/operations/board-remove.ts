/** @module Removes a board with all that belongs to it. */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { removeBoardFiles } from "../board-leftovers.ts";
import { endLeftWorkers } from "../end-worker.ts";
import { removeForeign } from "../foreign-files.ts";
import { defineOperation } from "../operation.ts";
import { mayShareFiles } from "../shared-files.ts";
import { unswitchBoard } from "../switched-board.ts";
import { openWorkspaces } from "../task-workspaces.ts";

export const boardRemove = defineOperation({
  name: "board.remove",
  summary: "Remove a board with its tasks, workspaces, attachments and logs, for ever",
  input: z.strictObject({
    slug: z.string(),
    /** The slug again, so that nobody removes a board by a slip. */
    confirm: z.string(),
  }),
  output: z.object({
    removed: z.string(),
    /** Worktrees with work that is nowhere else, and what could not be removed. */
    kept: z.readonly(z.array(z.object({ path: z.string(), why: z.string() }))),
    switchedBack: z.boolean(),
  }),
  async run(app, { slug: input, confirm }) {
    const kanban = await app.kanban();
    const by = kanban.person("removing a board");
    const { slug, defaultWorkdir } = await kanban.store.getBoard(input);
    if (confirm.trim() !== slug) {
      throw new HoldfastError(
        "invalid-input",
        `the board ${slug} was not removed: ${JSON.stringify(confirm.slice(0, 80))} is not its slug`,
        {
          hint: `repeat the slug: --confirm ${slug}`,
          facts: { board: slug, field: "confirm" },
        },
      );
    }
    // While the rows can still say where they are.
    const tasks = await kanban.store.listTasks({ board: slug, workspace: "worktree" });
    const own = (await mayShareFiles(app)) ? await kanban.store.listTasks({ board: slug }) : undefined;
    await endLeftWorkers(app, await kanban.store.runs({ board: slug }));
    await kanban.store.removeBoard(slug, { by });
    const switchedBack = await unswitchBoard(kanban, slug);
    // After the rows: files without a board are found by nobody, a board without its files would be.
    const workspaces = await openWorkspaces(app);
    const of = own && new Set(own.map(({ id }) => id));
    const files = await removeBoardFiles(kanban.files, slug, { of, userOf: workspaces.userOf, removeForeign: removeForeign(app) });
    const worktrees = await workspaces.discard(tasks, { defaultWorkdir });
    return { removed: slug, kept: [...files, ...worktrees], switchedBack };
  },
});
