/** @module holdfast kanban boards export and import. */
import type { Command } from "commander";
import { boardExport } from "../../app/operations/board-export.ts";
import { boardImport } from "../../app/operations/board-import.ts";
import { addHelpNotes, addSubverb, type VerbRunner } from "../verb.ts";
import { givenTexts } from "./kanban-verb.ts";

export function addArchiveVerbs(boards: Command, runner: VerbRunner): void {
  const exporting = addSubverb(boards, "export", "write a board into an archive")
    .argument("[slug]", "the board; without it, the one that counts now")
    .option("-o, --output <file>", "where to; without it, SLUG.kanban.tar.gz in the current directory")
    .option("--no-attachments", "without the files of attachments")
    .option("--include-logs", "with the logs of workers")
    .option("-f, --force", "replace a file that is there")
    .action((named: string | undefined) =>
      runner.run(exporting, async ({ app, terminal, flags }) => {
        const slug = named ?? (flags.board as string | undefined);
        const { output } = givenTexts(flags, ["output"]);
        const result = await boardExport.run(app, {
          ...(slug !== undefined && { slug }),
          ...(output !== undefined && { file: output }),
          attachments: flags.attachments !== false,
          logs: flags.includeLogs === true,
          force: flags.force === true,
        });
        if (flags.json) return terminal.json(result);
        terminal.note(`the board ${result.board} is in ${result.file}: ${result.tasks} tasks, ${result.attachments} attachments`);
        for (const { name, why } of result.leftOut) terminal.warn(`the file of ${name} was left out: ${why}`);
        if (result.hidden > 0) terminal.warn(`passwords of databases are *** in ${result.hidden} of its texts`);
      }),
    );
  addHelpNotes(exporting, { examples: [["holdfast kanban boards export site -o site.tar.gz", "everything but the logs of workers"]] });

  const importing = addSubverb(boards, "import", "make a new board from an archive")
    .argument("<file>", "what `boards export` made")
    .option("--as <slug>", "the name of the new board; without it, the one it had")
    .option("--switch", "it counts from now on")
    .action((file: string) =>
      runner.run(importing, async ({ app, terminal, flags }) => {
        const result = await boardImport.run(app, { file, ...givenTexts(flags, ["as"]), switch: flags.switch === true });
        if (flags.json) return terminal.json(result);
        terminal.note(`the board ${result.board} is there: ${result.tasks} tasks, ${result.attachments} attachments`);
        for (const name of result.leftOut) terminal.warn(`the file of ${name} is not in the archive, so it is no longer attached`);
        if (result.ready > 0) terminal.note(`a dispatcher may start ${result.ready} of its tasks at once`);
        for (const path of result.directories) terminal.warn(`tasks of this board work in ${path} on this machine`);
      }),
    );
  addHelpNotes(importing, { examples: [["holdfast kanban boards import site.tar.gz --as site2", "always a new board"]] });
}
