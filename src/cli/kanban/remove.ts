/** @module holdfast kanban archive --rm and attach-rm: what goes for ever. */
import type { Command } from "commander";
import { taskDetach } from "../../app/operations/task-detach.ts";
import { taskRemove } from "../../app/operations/task-remove.ts";
import { HoldfastError } from "../../base/errors.ts";
import type { Terminal } from "../render.ts";
import { numberFor } from "../values.ts";
import { addHelpNotes, type VerbInvocation, type VerbRunner } from "../verb.ts";
import { CLAIM_EXIT, kanbanVerb, onBoard } from "./kanban-verb.ts";

export function registerDetach(kanban: Command, runner: VerbRunner): void {
  const detach = kanbanVerb(kanban, "attach-rm", "remove an attachment with its file, for ever")
    .argument("<attachment>", "its number, which `attachments` shows", numberFor("the attachment", { whole: true, example: "7" }))
    .action((attachment: number) =>
      runner.run(detach, async ({ app, terminal, flags }) => {
        const result = await taskDetach.run(app, { attachment, ...onBoard(flags) });
        if (flags.json) return terminal.json(result);
        terminal.note(`${result.removed.name} is no longer attached to ${result.removed.task}`);
        tellKept(terminal, result.kept);
      }),
    );
  addHelpNotes(detach, {
    examples: [["holdfast kanban attach-rm 7", "`holdfast kanban attachments t_1a2b3c4d` shows the numbers"]],
    exit: CLAIM_EXIT,
  });
}

/** One after the other; the first that is refused ends it, and those before it are gone. */
export async function removeTasks(ids: readonly string[], { app, terminal, flags }: VerbInvocation): Promise<void> {
  if (flags.yes !== true) await ask(ids, terminal);
  const results: Awaited<ReturnType<typeof taskRemove.run>>[] = [];
  try {
    for (const id of ids) {
      const result = await taskRemove.run(app, { id, ...onBoard(flags) });
      results.push(result);
      if (flags.json) continue;
      terminal.note(`${result.removed} is gone`);
      tellKept(terminal, result.kept);
    }
  } finally {
    if (flags.json && results.length > 0) terminal.json(results);
  }
}

async function ask(ids: readonly string[], terminal: Terminal): Promise<void> {
  const what = ids.length === 1 ? String(ids[0]) : `${ids.length} tasks`;
  if (!terminal.interactive) throw new HoldfastError("usage", `removing ${what} has to be confirmed`, { hint: "add --yes" });
  const answer = await terminal.ask(`This removes ${what} for ever, with comments, runs and attachments. Go on? [y/N]`);
  if (!/^y(es)?$/i.test(answer)) throw new HoldfastError("aborted", "nothing was removed");
}

function tellKept(terminal: Terminal, kept: readonly { path: string; why: string }[]): void {
  for (const { path, why } of kept) terminal.warn(`${path} was kept: ${why}`);
}
