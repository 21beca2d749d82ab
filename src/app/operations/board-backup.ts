/** @module Copies the database of the boards while others write to it (K25). */
import { stat } from "node:fs/promises";
import * as z from "zod/mini";
import { fromCaller } from "../caller-directory.ts";
import { hostFailed } from "../host-file.ts";
import { defineOperation } from "../operation.ts";
import { backupTo } from "../upkeep/backups.ts";

export const boardBackup = defineOperation({
  name: "board.backup",
  summary: "Write a whole and consistent copy of the database of all boards, while others write to it",
  input: z.strictObject({ file: z.string() }),
  output: z.object({ file: z.string(), bytes: z.int() }),
  async run(app, { file }) {
    const kanban = await app.kanban();
    kanban.person("copying the database");
    const path = fromCaller(app, file);
    await backupTo(kanban.store, path).catch((error: unknown) => {
      throw hostFailed(path, error);
    });
    return { file: path, bytes: (await stat(path)).size };
  },
});
