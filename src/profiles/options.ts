/** @module What a profile runs when it works on a task of the board (K4). */
import * as z from "zod/mini";
import { DURATION_RULE, isDuration } from "../base/duration.ts";
import { option } from "../base/option.ts";

const WORKER_SANDBOXES = ["task", "profile", "none"] as const;

export const workerOptions = {
  command: option(z.array(z.string()), {
    default: [],
    help: "Program and arguments of the worker; empty = tasks of this profile wait for somebody who takes them",
  }),
  sandbox: option(z.enum(WORKER_SANDBOXES), {
    default: "task",
    help: "Where it runs: in the sandbox of the task, in the one that all tasks of the profile share, or on the host",
  }),
  env: option(z.record(z.string().check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/)), z.string()), {
    default: {},
    help: "Variables of the worker; a value ${NAME} is taken from the profile's .env",
  }),
  max_runtime: option(z.nullable(z.string().check(z.refine(isDuration))), {
    default: null,
    help: `How long a run may take, unless the task says so itself: ${DURATION_RULE}; not set: no limit`,
    expected: `a length of time: ${DURATION_RULE}`,
  }),
  skills: option(z.array(z.string()), { default: [], help: "Skills that the worker is told to use, unless the task names its own" }),
  accepts_from_sandboxes: option(z.boolean(), {
    default: false,
    help: "Give its workers also on the host what comes from a sandbox: tasks made, handed on or worked on in one, and directories to which one could write",
  }),
  vision: option(z.boolean(), { default: false, help: "Its model can see: images of the task are handed to it" }),
};
