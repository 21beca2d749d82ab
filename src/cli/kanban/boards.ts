/** @module holdfast kanban boards: several boards beside each other (K5). */
import type { Command } from "commander";
import type { ListedBoard } from "../../app/board-shapes.ts";
import { boardCreate } from "../../app/operations/board-create.ts";
import { boardList } from "../../app/operations/board-list.ts";
import { boardShow } from "../../app/operations/board-show.ts";
import { boardSwitch } from "../../app/operations/board-switch.ts";
import { addHelpNotes, addSubverb, type RegisterVerb, type VerbRunner } from "../verb.ts";
import { addArchiveVerbs } from "./boards-archive.ts";
import { addChangingVerbs } from "./boards-change.ts";
import { givenTexts } from "./kanban-verb.ts";
import { shown } from "./time.ts";

export const registerBoards: RegisterVerb = (command, { runner }) => {
  const boards = addSubverb(command, "boards", "several boards beside each other", { json: false })
    .usage("[options] <verb>")
    .helpCommand(false)
    .commandsGroup("Verbs:");
  addHelpNotes(boards, {
    examples: [
      ["holdfast kanban boards create site --name 'The web site' --switch", "a board, which counts from now on"],
      ["holdfast kanban boards list", "the one with a * counts now"],
    ],
  });
  addList(boards, runner);
  addCreate(boards, runner);
  addSwitch(boards, runner);
  addShow(boards, runner);
  addChangingVerbs(boards, runner);
  addArchiveVerbs(boards, runner);
};

function addList(boards: Command, runner: VerbRunner): void {
  const list = addSubverb(boards, "list", "list the boards")
    .alias("ls")
    .option("-a, --all", "also those that are archived")
    .action(() =>
      runner.run(list, async ({ app, terminal, flags }) => {
        const found = await boardList.run(app, { archived: flags.all === true });
        if (flags.json) return terminal.json(found);
        terminal.table(["", "BOARD", "NAME", "TASKS"], found.map(row));
      }),
    );
  addHelpNotes(list, { examples: [["holdfast kanban boards list --all", "also those that are archived"]] });
}

function row({ current, slug, icon, name, archivedAt, counts }: ListedBoard): string[] {
  return [current ? "*" : "", slug, `${icon} ${name}`.trim(), `${countsText(counts)}${archivedAt === null ? "" : " (archived)"}`];
}

function countsText(counts: Readonly<Record<string, number>>): string {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.map(([status, count]) => `${count} ${status}`).join(", ") || "none";
}

function addCreate(boards: Command, runner: VerbRunner): void {
  const create = addSubverb(boards, "create", "make a board")
    .argument("<new-slug>", "a-z, 0-9, _ and -, at most 64")
    .option("--name <text>", "how it is shown; without it, the slug")
    .option("--description <text>", "what it is for")
    .option("--icon <text>", "shown before the name")
    .option("--default-workdir <path>", "the repository of --workspace worktree, where a task names none; absolute")
    .option("--switch", "it counts from now on")
    .action((slug: string) =>
      runner.run(create, async ({ app, terminal, flags }) => {
        const fields = givenTexts(flags, ["name", "description", "icon", "defaultWorkdir"]);
        const made = await boardCreate.run(app, { slug, ...fields, switch: flags.switch === true });
        if (flags.json) return terminal.json(made);
        terminal.note(`the board ${made.slug} is there${flags.switch === true ? ", and counts from now on" : ""}`);
      }),
    );
  addHelpNotes(create, {
    examples: [
      ["holdfast kanban boards create site --default-workdir /srv/site", "tasks with --workspace worktree get one of that repository"],
    ],
  });
}

function addSwitch(boards: Command, runner: VerbRunner): void {
  const switchTo = addSubverb(boards, "switch", "choose the board that counts from now on")
    .alias("use")
    .argument("<slug>", "the board")
    .action((slug: string) =>
      runner.run(switchTo, async ({ app, terminal, flags }) => {
        const chosen = await boardSwitch.run(app, { slug });
        if (flags.json) return terminal.json(chosen);
        terminal.note(`the board ${chosen.slug} counts from now on`);
        if (!chosen.current) terminal.warn("HOLDFAST_KANBAN_BOARD is set and comes first, so it does not count in this shell");
      }),
    );
  addHelpNotes(switchTo, { examples: [["holdfast kanban boards switch site", "unless --board or HOLDFAST_KANBAN_BOARD says otherwise"]] });
}

function addShow(boards: Command, runner: VerbRunner): void {
  const show = addSubverb(boards, "show", "show a board")
    .argument("[slug]", "the board; without it, the one that counts now")
    .action((slug: string | undefined) =>
      runner.run(show, async ({ app, terminal, flags }) => {
        const asked = slug ?? (flags.board as string | undefined);
        const board = await boardShow.run(app, asked === undefined ? {} : { slug: asked });
        if (flags.json) return terminal.json(board);
        terminal.fact("board", `${board.slug}${board.current ? " (counts now)" : ""}${board.archivedAt === null ? "" : " (archived)"}`);
        terminal.fact("name", `${board.icon} ${board.name}`.trim());
        if (board.description !== "") terminal.fact("description", board.description);
        terminal.fact("made", shown(board.createdAt));
        terminal.fact("tasks", countsText(board.counts));
        terminal.fact(
          "running",
          Object.entries(board.running)
            .map(([profile, count]) => `${profile} ${count}`)
            .join(", ") || "nothing",
        );
        terminal.fact("dispatcher", board.dispatcher?.holder ?? "none: `holdfast kanban dispatch --watch` is one");
        terminal.fact("default workdir", board.defaultWorkdir ?? "none");
        terminal.fact("files", board.files);
        terminal.fact("database", board.database);
      }),
    );
  addHelpNotes(show, { examples: [["holdfast kanban boards show site", "its tasks by status, and who dispatches"]] });
}
