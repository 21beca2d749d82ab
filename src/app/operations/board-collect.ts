/** @module Removes what finished tasks have left: old events and logs, and sandboxes and workspaces that nobody needs. */
import * as z from "zod/mini";
import { readSettings } from "../../dispatcher/settings.ts";
import { withLauncher } from "../end-worker.ts";
import { defineOperation } from "../operation.ts";
import { collectSandboxes } from "../upkeep/finished-sandboxes.ts";
import { collectFiles } from "../upkeep/garbage.ts";
import { createProfileConfigs } from "../worker-directory.ts";

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;

const Sandboxes = z.readonly(z.array(z.object({ task: z.string(), profile: z.string(), why: z.string() })));
const Files = z.readonly(z.array(z.object({ path: z.string(), why: z.string() })));

export const boardCollect = defineOperation({
  name: "board.collect",
  summary: "Remove old events and logs of finished tasks, sandboxes and workspaces that nobody needs, and files of tasks that are gone",
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
    sandboxes: z.object({ removed: Sandboxes, kept: Sandboxes }),
  }),
  async run(app, { board: wanted, eventDays, logDays, dryRun }) {
    const kanban = await app.kanban();
    kanban.person("removing what is old");
    const { slug } = await kanban.existingBoard(wanted);
    const now = app.clock.now();
    // A dry run does not count events: that takes as long as removing them.
    const old = { eventsBefore: Math.max(0, Math.floor(now - eventDays * DAY_MS)), board: slug };
    const events = dryRun ? null : (await kanban.store.collectGarbage(old)).events;
    return withLauncher(app, async (launcher) => {
      const freeing = { store: kanban.store, launcher, settings: async () => readSettings(kanban.options), clock: app.clock };
      // First, since workspaces may be mounted in them.
      const sandboxes = await collectSandboxes(app, { board: slug, dryRun, freeing, configs: createProfileConfigs(app) });
      const { removed, kept } = await collectFiles(app, { board: slug, logsBefore: now - logDays * DAY_MS, dryRun, freeing });
      return { board: slug, dryRun, events, removed, kept, sandboxes };
    });
  },
});
