/** @module holdfast kanban boards rename, edit, archive and rm. */
import type { Command } from "commander";
import { boardArchive } from "../../app/operations/board-archive.ts";
import { boardEdit } from "../../app/operations/board-edit.ts";
import { boardRemove } from "../../app/operations/board-remove.ts";
import { HoldfastError } from "../../base/errors.ts";
import type { Terminal } from "../render.ts";
import { addHelpNotes, addSubverb, type VerbRunner } from "../verb.ts";
import { givenTexts } from "./kanban-verb.ts";

const SWITCHED_BACK = "it was the switched board; from now on default counts";

export function addChangingVerbs(boards: Command, runner: VerbRunner): void {
  const rename = addSubverb(boards, "rename", "change how a board is shown; its slug stays")
    .argument("<slug>", "the board")
    .argument("<name>", "the new name")
    .action((slug: string, name: string) =>
      runner.run(rename, async ({ app, terminal, flags }) => {
        const board = await boardEdit.run(app, { slug, name });
        if (flags.json) return terminal.json(board);
        terminal.note(`the board ${board.slug} is called ${board.name}`);
      }),
    );
  addHelpNotes(rename, { examples: [["holdfast kanban boards rename site 'The new site'", "only the name that is shown"]] });

  const edit = addSubverb(boards, "edit", "change what a board says about itself")
    .argument("<slug>", "the board")
    .option("--name <text>", "how it is shown")
    .option("--description <text>", "what it is for")
    .option("--icon <text>", "shown before the name")
    .option("--default-workdir <path>", "the repository of --workspace worktree, where a task names none; absolute, or empty for none")
    .action((slug: string) =>
      runner.run(edit, async ({ app, terminal, flags }) => {
        const { defaultWorkdir, ...fields } = givenTexts(flags, ["name", "description", "icon", "defaultWorkdir"]);
        if (defaultWorkdir === undefined && Object.keys(fields).length === 0) {
          throw new HoldfastError("usage", "nothing to change was given", {
            hint: "give --name, --description, --icon or --default-workdir",
          });
        }
        const workdir = defaultWorkdir === undefined ? {} : { defaultWorkdir: defaultWorkdir === "" ? null : defaultWorkdir };
        const board = await boardEdit.run(app, { slug, ...fields, ...workdir });
        if (flags.json) return terminal.json(board);
        terminal.note(`the board ${board.slug} is changed`);
      }),
    );
  addHelpNotes(edit, { examples: [["holdfast kanban boards edit site --description 'All about the site'", "the rest stays"]] });

  const archive = addSubverb(boards, "archive", "put a board out of sight: nothing new is made on it")
    .argument("<slug>", "the board")
    .action((slug: string) =>
      runner.run(archive, async ({ app, terminal, flags }) => {
        const result = await boardArchive.run(app, { slug });
        if (flags.json) return terminal.json(result);
        terminal.note(`the board ${result.board.slug} is archived`);
        if (result.switchedBack) terminal.note(SWITCHED_BACK);
      }),
    );
  addHelpNotes(archive, { examples: [["holdfast kanban boards archive site", "refused while one of its tasks is running"]] });

  const remove = addSubverb(boards, "rm", "remove a board with its tasks, workspaces, attachments and logs, for ever")
    .alias("remove")
    .argument("<slug>", "the board")
    .option("--confirm <slug>", "the slug again, instead of being asked for it")
    .action((slug: string) =>
      runner.run(remove, async ({ app, terminal, flags }) => {
        const confirm = (flags.confirm as string | undefined) ?? (await askFor(terminal, slug));
        const result = await boardRemove.run(app, { slug, confirm });
        if (flags.json) return terminal.json(result);
        terminal.note(`the board ${result.removed} is gone`);
        if (result.switchedBack) terminal.note(SWITCHED_BACK);
        for (const { path, why } of result.kept) terminal.warn(`${path} was kept: ${why}`);
      }),
    );
  addHelpNotes(remove, {
    examples: [
      ["holdfast kanban boards rm site", "asks for the slug first"],
      ["holdfast kanban boards rm site --confirm site", "without asking"],
    ],
  });
}

async function askFor(terminal: Terminal, slug: string): Promise<string> {
  if (terminal.interactive) return await terminal.ask(`This removes the board ${slug} for ever. Type its slug to go on:`);
  throw new HoldfastError("usage", `removing the board ${slug} has to be confirmed`, { hint: `add --confirm ${slug}` });
}
