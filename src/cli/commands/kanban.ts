/** @module holdfast kanban: boards of tasks, and the dispatcher that puts profiles to work on them. */
import { HoldfastError } from "../../base/errors.ts";
import { registerBoards } from "../kanban/boards.ts";
import { registerDispatch } from "../kanban/dispatch.ts";
import { registerPlans } from "../kanban/plans.ts";
import { registerTasks } from "../kanban/tasks.ts";
import { registerUpkeep } from "../kanban/upkeep.ts";
import { registerWork } from "../kanban/work.ts";
import { asUsage } from "../usage.ts";
import { addHelpNotes, type RegisterVerb, type VerbRunner } from "../verb.ts";

export const register: RegisterVerb = (command, tools) => {
  command.option("--board <slug>", "the board; else HOLDFAST_KANBAN_BOARD, the switched one, or default");
  addHelpNotes(command.usage("[options] <verb>"), {
    examples: [
      ["holdfast kanban create 'Write the release notes' --assignee writer", "a task for a profile"],
      ["holdfast kanban list", "the board in columns"],
      ["holdfast kanban dispatch --watch", "put profiles to work until Ctrl-C"],
    ],
  });
  for (const part of [registerTasks, registerWork, registerPlans, registerDispatch, registerBoards, registerUpkeep])
    part(command, { ...tools, runner: wantingIds(tools.runner) });
};

/** Whether an id may be left out is known only when the verb runs: a worker may. For everybody else the line is incomplete. */
function wantingIds(runner: VerbRunner): VerbRunner {
  return {
    run: (command, work) =>
      runner.run(command, work).catch((error: unknown) => {
        throw HoldfastError.isInstance(error) && error.facts.field === "id" && error.facts.missing === true ? asUsage(error) : error;
      }),
  };
}
