/** @module Ends a background process, or sends it a signal. */
import { constants } from "node:os";
import * as z from "zod/mini";
import { findProcess } from "../find-process.ts";
import { defineOperation } from "../operation.ts";
import { ProcessInfoShape } from "../process-shapes.ts";
import { TaskInput } from "../schemas.ts";

export const processKill = defineOperation({
  name: "process.kill",
  summary: "End a background process with all that came from it, or only send it a signal",
  input: z.strictObject({
    task: TaskInput,
    process: z.string(),
    /** Between TERM and KILL. */
    graceSeconds: z.optional(z.number()),
    /** Only this is sent, to its process group, and nothing is waited for. */
    signal: z.optional(z.string()),
  }),
  output: ProcessInfoShape,
  async run(app, { task, process: wanted, graceSeconds, signal }) {
    const { processes, info } = await findProcess(app, task, wanted);
    if (signal === undefined) await processes.kill(info.id, graceSeconds === undefined ? {} : { graceMs: Math.round(graceSeconds * 1000) });
    else await processes.signal(info.id, signalName(signal));
    return processes.get(info.id);
  },
});

/** `hup`, `HUP`, `SIGHUP` and `1` are the same. */
function signalName(text: string): string {
  const [numbered] = Object.entries(constants.signals).find(([, number]) => String(number) === text) ?? [];
  if (numbered !== undefined) return numbered;
  return `SIG${text.toUpperCase().replace(/^SIG/, "")}`;
}
