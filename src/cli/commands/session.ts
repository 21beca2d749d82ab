/** @module holdfast session: the shell states in a sandbox. */
import { sessionList } from "../../app/operations/session-list.ts";
import { sessionRemove } from "../../app/operations/session-remove.ts";
import { DEFAULT_TASK } from "../../base/names.ts";
import { addGlobalFlags, addJsonFlag } from "../flags.ts";
import { addHelpNotes, type RegisterVerb } from "../verb.ts";

export const register: RegisterVerb = (command, runner) => {
  const list = addJsonFlag(addGlobalFlags(command.command("ls").alias("list").description("list the sessions in a sandbox")))
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

  const remove = addJsonFlag(
    addGlobalFlags(command.command("rm").alias("remove").description("forget a session; the next call in it begins afresh")),
  )
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
