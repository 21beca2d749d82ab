/** @module Removes what finished tasks have left: old events and logs, and workspaces that nobody needs. */
import * as z from "zod/mini";
import { defineOperation } from "../operation.ts";
import { collectFiles } from "../upkeep/garbage.ts";

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;

const Files = z.readonly(z.array(z.object({ path: z.string(), why: z.string() })));

export const boardCollect = defineOperation({
  name: "board.collect",
  summary: "Remove old events and logs of finished tasks, workspaces that nobody needs, and files of tasks that are gone",
  input: z.strictObject({
    board: z.optional(z.string()),
    eventDays: z._default(z.number(), DEFAULT_DAYS),
    logDays: z._default(z.number(), DEFAULT_DAYS),
    dryRun: z._default(z.boolean(), false),
  }),
  output: z.object({
    board: z.string(),
    dryRun: z.boolean(),
    /** Null in a dry run, which does not count them. */
    events: z.nullable(z.int()),
    removed: Files,
    kept: Files,
  }),
  async run(app, { board: wanted, eventDays, logDays, dryRun }) {
    const kanban = await app.kanban();
    kanban.person("removing what is old");
    const { slug } = await kanban.existingBoard(wanted);
    const now = app.clock.now();
    // A dry run does not count events: that takes as long as removing them.
    const old = { eventsBefore: Math.max(0, Math.floor(now - eventDays * DAY_MS)), board: slug };
    const events = dryRun ? null : (await kanban.store.collectGarbage(old)).events;
    const { removed, kept } = await collectFiles(app, { board: slug, logsBefore: now - logDays * DAY_MS, dryRun });
    return { board: slug, dryRun, events, removed, kept };
  },
});
