/** @module What the rules of the board do not allow, in words. Without the database, so that whoever only refuses need not load it. */
import { HoldfastError } from "../base/errors.ts";
import type { TaskRow } from "./task.ts";
import type { Status } from "./transitions.ts";

export function refusal(
  task: Pick<TaskRow, "id" | "status">,
  action: string,
  why: string | { reason: string; hint: string },
): HoldfastError {
  const { reason, ...hint } = typeof why === "string" ? { reason: why } : why;
  return new HoldfastError("move-refused", `${action} of ${task.id} is refused: ${reason}`, {
    ...hint,
    facts: { task: task.id, status: task.status, action, reason },
  });
}

/** Whoever took it by hand is a person without the variables of the run, too. */
export function refusedToPerson(task: { id: string; status: Status }, action: string): HoldfastError {
  const taken = `if you took it yourself, set the variables that claim printed, as \`eval "$(holdfast kanban claim ${task.id})"\` does at once`;
  return refusal(task, action, {
    reason: "it is running, so only its run can, and no variables of a run are set here",
    hint: `${taken}; \`holdfast kanban reclaim ${task.id}\` takes it from whoever works on it`,
  });
}
