/** @module holdfast session: the shell states in a sandbox. */
import { sessionList } from "../../app/operations/session-list.ts";
import { sessionRemove } from "../../app/operations/session-remove.ts";
import { DEFAULT_TASK } from "../../base/names.ts";
import { addHelpNotes, addSubverb, type RegisterVerb } from "../verb.ts";

export const register: RegisterVerb = (command, { runner }) => {
  addHelpNotes(command.usage("[options] <verb>"), {
    examples: [
      ["holdfast session ls", "what is open in the sandbox of task default"],
      ["holdfast session rm review", "forget one; the sandbox and its files stay"],
    ],
  });

  const list = addSubverb(command, "ls", "list the sessions in a sandbox")
    .alias("list")
    .option("-t, --task <name>", "the task whose sandbox to look at", DEFAULT_TASK)
    .action(() =>
      runner.run(list, async ({ app, terminal, flags }) => {
        const sessions = await sessionList.run(app, { task: String(flags.task) });
        if (flags.json) return terminal.json(sessions);
        terminal.table(
          ["SESSION", "DIRECTORY", "LAST USED"],
          sessions.map(({ name, cwd, lastUsedAt }) => [name, cwd, lastUsedAt]),
        );
      }),
    );
  addHelpNotes(list, { examples: [["holdfast session ls --task build", "the sessions of the task's sandbox"]] });

  const remove = addSubverb(command, "rm", "forget a session; the next call in it begins afresh")
    .alias("remove")
    .argument("<session>", "its name")
    .option("-t, --task <name>", "the task whose sandbox it is in", DEFAULT_TASK)
    .action((session: string) =>
      runner.run(remove, async ({ app, terminal, flags }) => {
        const result = await sessionRemove.run(app, { task: String(flags.task), session });
        if (flags.json) return terminal.json(result);
        terminal.note(`session ${result.removed} is forgotten`);
      }),
    );
  addHelpNotes(remove, { examples: [["holdfast session rm review", "directory, variables, functions and aliases are gone"]] });
};
