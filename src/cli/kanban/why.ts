/** @module holdfast kanban why: what keeps a task from running, and nothing else. */
import type { Command } from "commander";
import { taskShow } from "../../app/operations/task-show.ts";
import type { Why } from "../../dispatcher/why.ts";
import { visible } from "../render.ts";
import { addHelpNotes, type VerbRunner } from "../verb.ts";
import { given, kanbanVerb, text } from "./kanban-verb.ts";

export function registerWhy(kanban: Command, runner: VerbRunner): void {
  const why = kanbanVerb(kanban, "why", "say why a task does not run, and what to do about it")
    .argument("[id]", "the task; a worker's own if left out")
    .action((id: string | undefined) =>
      runner.run(why, async ({ app, terminal, flags }) => {
        const { task, why: reasons } = await taskShow.run(app, given({ id, board: text(flags, "board") }));
        if (flags.json) return terminal.json({ task: task.id, status: task.status, why: reasons });
        for (const line of whyLines(task.status, reasons)) terminal.line(visible(line));
      }),
    );
  addHelpNotes(why, {
    examples: [
      ["holdfast kanban why t_1a2b3c4d", "the weightiest reason first"],
      ["holdfast kanban why t_1a2b3c4d --json", "the same as data"],
    ],
  });
}

/** For a task that only waits for its turn, that. */
export function whyLines(status: string, reasons: readonly Why[]): string[] {
  if (reasons.length > 0) return reasons.map(({ text: reason, fix }) => (fix === null ? reason : `${reason} (${fix})`));
  if (status === "ready" || status === "review") return ["nothing holds it back; the dispatcher takes it next"];
  return [`it is ${status}`];
}
