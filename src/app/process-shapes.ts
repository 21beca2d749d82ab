/** @module The shape of what is known about a background process. */
import * as z from "zod/mini";

export const ProcessInfoShape = z.object({
  id: z.string(),
  name: z.string(),
  command: z.string(),
  pid: z.int(),
  state: z.enum(["running", "ended"]),
  /** Null while it runs. */
  exitCode: z.nullable(z.int()),
  signal: z.nullable(z.string()),
  tty: z.boolean(),
  inputOpen: z.boolean(),
  /** Milliseconds since the epoch. */
  startedAt: z.number(),
  endedAt: z.nullable(z.number()),
  outputBytes: z.number(),
});
