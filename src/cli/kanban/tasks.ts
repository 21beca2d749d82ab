/** @module holdfast kanban: making, listing, showing and changing tasks. */
import type { RegisterVerb } from "../verb.ts";
import { registerChange } from "./change.ts";
import { registerCreate } from "./create.ts";
import { registerList } from "./list.ts";
import { registerMoves } from "./move.ts";
import { registerShow } from "./show.ts";
import { registerWhy } from "./why.ts";

export const registerTasks: RegisterVerb = (kanban, { runner }) => {
  for (const register of [registerCreate, registerList, registerShow, registerWhy, registerChange, registerMoves]) register(kanban, runner);
};
