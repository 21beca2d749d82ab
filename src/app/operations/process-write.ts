/** @module Writes to the standard input of a background process. */
import * as z from "zod/mini";
import { findProcess } from "../find-process.ts";
import { defineOperation } from "../operation.ts";
import { TaskInput } from "../schemas.ts";

export const processWrite = defineOperation({
  name: "process.write",
  summary: "Write to the standard input, or the terminal, of a background process",
  input: z.strictObject({
    task: TaskInput,
    process: z.string(),
    text: z.string(),
    /** Nothing more will come. */
    end: z._default(z.boolean(), false),
  }),
  output: z.object({ id: z.string(), bytes: z.int() }),
  async run(app, { task, process: wanted, text, end }) {
    const { processes, info } = await findProcess(app, task, wanted);
    await processes.write(info.id, text, { end });
    return { id: info.id, bytes: Buffer.byteLength(text) };
  },
});
