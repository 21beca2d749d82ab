/** @module One pass of the dispatcher over a board. */
import * as z from "zod/mini";
import type { DispatchResult } from "../../dispatcher/result.ts";
import { openDispatching } from "../dispatching.ts";
import { defineOperation } from "../operation.ts";

export const dispatchOnce = defineOperation({
  name: "dispatch.once",
  summary: "Look over a board once: end what must end, start what can start",
  input: z.strictObject({
    board: z.optional(z.string()),
    dryRun: z._default(z.boolean(), false),
    max: z.optional(z.int()),
    failureLimit: z.optional(z.int().check(z.minimum(1))),
  }),
  output: z.custom<DispatchResult>(),
  async run(app, { board, dryRun, max, failureLimit }): Promise<DispatchResult> {
    const kanban = await app.kanban();
    kanban.person("dispatching");
    const { slug } = await kanban.existingBoard(board);
    const dispatching = await openDispatching(app, { stays: false, failureLimit });
    try {
      const result = await dispatching.dispatcher.runOnce(slug, { dryRun, max, wait: true });
      if (!dryRun && !result.skipped_locked) await dispatching.tidyOnce(slug);
      return result;
    } finally {
      await dispatching.close();
    }
  },
});
