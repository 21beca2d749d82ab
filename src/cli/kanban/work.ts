/** @module holdfast kanban: what workers, and people in their place, say about a task they work on. */
import type { RegisterVerb } from "../verb.ts";
import { registerFinish } from "./finish.ts";
import { registerFollow } from "./follow.ts";
import { registerLook } from "./look.ts";
import { registerNotes } from "./notes.ts";
import { registerDetach } from "./remove.ts";

export const registerWork: RegisterVerb = (kanban, { runner }) => {
  for (const register of [registerNotes, registerDetach, registerFinish, registerLook, registerFollow]) register(kanban, runner);
};
