/** @module Puts right what is wrong in the database of the boards, after taking a copy of it (K25). */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { isUrl } from "../../board/location.ts";
import type { App } from "../create-app.ts";
import type { Kanban } from "../kanban.ts";
import { defineOperation } from "../operation.ts";
import { backupBeside } from "../upkeep/backups.ts";

export const boardRepair = defineOperation({
  name: "board.repair",
  summary: "Check the database of the boards and put right what can be, after taking a copy of it",
  input: z.strictObject({}),
  output: z.object({
    /** Nothing is wrong any more. */
    sound: z.boolean(),
    /** What was put right. */
    repaired: z.array(z.string()),
    /** What is still wrong. */
    left: z.array(z.string()),
    /** The copy that was taken before anything was changed. */
    backup: z.nullable(z.string()),
  }),
  async run(app) {
    const { kanban, damage } = await open(app);
    const location = kanban?.store.location ?? damage?.location ?? "";
    kanban?.person("repairing the boards");
    const found = kanban === null ? [damage?.message ?? ""] : await kanban.store.check();
    if (found.length === 0) return { sound: true, repaired: [], left: [], backup: null };
    const backup = isUrl(location) ? null : await backupBeside(location, { store: kanban?.store ?? null, now: app.clock.now() });
    if (kanban === null) return { sound: false, repaired: [], left: found, backup };
    const repaired = await kanban.store.repair().catch((error: unknown) => {
      if (HoldfastError.isInstance(error) && error.code === "board-damaged") return null;
      throw error;
    });
    const left = await kanban.store.check();
    // What was wrong with indexes is in no list of tasks, only gone.
    const done = repaired === null ? [] : [...new Set([...repaired, ...found])].filter((text) => !left.includes(text));
    return { sound: left.length === 0, repaired: done, left, backup };
  },
});

interface Opened {
  readonly kanban: Kanban | null;
  readonly damage: { readonly message: string; readonly location: string } | null;
}

/** Some damage shows when the store is opened. */
async function open(app: App): Promise<Opened> {
  try {
    return { kanban: await app.kanban(), damage: null };
  } catch (error) {
    if (!HoldfastError.isInstance(error) || error.code !== "board-damaged") throw error;
    return { kanban: null, damage: { message: error.message, location: String(error.facts.location) } };
  }
}
