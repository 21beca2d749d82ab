/** @module holdfast kanban init, repair, backup, gc and diagnostics: what keeps boards in order. */
import type { Command } from "commander";
import { boardBackup } from "../../app/operations/board-backup.ts";
import { boardCollect } from "../../app/operations/board-collect.ts";
import { boardDiagnose } from "../../app/operations/board-diagnose.ts";
import { boardInit } from "../../app/operations/board-init.ts";
import { boardRepair } from "../../app/operations/board-repair.ts";
import { SEVERITIES } from "../../app/upkeep/diagnostic.ts";
import type { Terminal } from "../render.ts";
import { unknownChoice } from "../usage.ts";
import { numberFor, readableSize } from "../values.ts";
import { addHelpNotes, type RegisterVerb, type VerbRunner } from "../verb.ts";
import { givenTexts, kanbanVerb } from "./kanban-verb.ts";

type Collected = Awaited<ReturnType<typeof boardCollect.run>>;
type Repaired = Awaited<ReturnType<typeof boardRepair.run>>;

const EXIT_DAMAGED = 1;
const EXIT_NOT_ALL = 1;

export const registerUpkeep: RegisterVerb = (command, { runner }) => {
  addInit(command, runner);
  addDiagnostics(command, runner);
  addCollect(command, runner);
  addBackup(command, runner);
  addRepair(command, runner);
};

function addInit(command: Command, runner: VerbRunner): void {
  const init = kanbanVerb(command, "init", "make the database of the boards, and say what to do next").action(() =>
    runner.run(init, async ({ app, terminal, flags }) => {
      const made = await boardInit.run(app, {});
      if (flags.json) return terminal.json(made);
      terminal.fact("database", made.database);
      terminal.fact("board", made.board);
      for (const { name, spawnable, problem } of made.profiles) {
        const state = spawnable ? "works by itself" : "has no worker.command: its tasks wait for somebody who takes them";
        terminal.fact(`profile ${name}`, problem ?? state);
      }
      for (const step of made.next) terminal.fact("next", step);
    }),
  );
  addHelpNotes(init, { examples: [["holdfast kanban init", "harmless when it is there already"]] });
}

function addDiagnostics(command: Command, runner: VerbRunner): void {
  const diagnostics = kanbanVerb(command, "diagnostics", "say what is wrong with a board, and what to do about it")
    .alias("diag")
    .option("--severity <level>", "only these and worse: warning, error or critical", readSeverity)
    .option("--task <id>", "only what is about this task")
    .action(() =>
      runner.run(diagnostics, async ({ app, terminal, flags }) => {
        const severity = (flags.severity as (typeof SEVERITIES)[number] | undefined) ?? "warning";
        const found = await boardDiagnose.run(app, { ...givenTexts(flags, ["board", "task"]), severity });
        if (flags.json) return terminal.json(found);
        if (found.length === 0) return terminal.note("nothing is wrong");
        for (const each of found) {
          terminal.fact(each.severity, each.text);
          terminal.fact("  do", each.todo);
        }
      }),
    );
  addHelpNotes(diagnostics, { examples: [["holdfast kanban diagnostics --severity error", "only what keeps work from being done"]] });
}

function readSeverity(word: string): (typeof SEVERITIES)[number] {
  const known = SEVERITIES.find((severity) => severity === word);
  if (known === undefined) throw unknownChoice("--severity", word, SEVERITIES);
  return known;
}

function addCollect(command: Command, runner: VerbRunner): void {
  const days = (flag: string) => numberFor(flag, { example: "30" });
  const collect = kanbanVerb(command, "gc", "remove what finished tasks have left and nobody needs")
    .option("--event-retention-days <days>", "events of finished tasks that are older go (30)", days("--event-retention-days"))
    .option("--log-retention-days <days>", "logs of finished tasks that are older go (30)", days("--log-retention-days"))
    .option("-n, --dry-run", "only say what would go")
    .action(() =>
      runner.run(collect, async ({ app, terminal, flags }) => {
        const { eventRetentionDays: eventDays = 30, logRetentionDays: logDays = 30 } = flags as Record<string, number | undefined>;
        const result = await boardCollect.run(app, { ...givenTexts(flags, ["board"]), eventDays, logDays, dryRun: flags.dryRun === true });
        if (flags.json) terminal.json(result);
        else showCollected(result, terminal);
        return result.kept.length + result.sandboxes.kept.length > 0 ? EXIT_NOT_ALL : 0;
      }),
    );
  addHelpNotes(collect, {
    examples: [["holdfast kanban gc --dry-run", "look first"]],
    exit: [
      ["0", "done"],
      ["1", "something was kept, or Holdfast failed; the message says why"],
      ["2", "the command line was not understood"],
    ],
  });
}

function showCollected({ removed, kept, sandboxes, events, dryRun }: Collected, terminal: Terminal): void {
  const gone = dryRun ? "would go" : "gone";
  const sandbox = ({ task, profile }: Collected["sandboxes"]["removed"][number]) => `the sandbox ${task} of profile ${profile}`;
  for (const each of sandboxes.removed) terminal.fact(gone, `${sandbox(each)} (${each.why})`);
  for (const { path, why } of removed) terminal.fact(gone, `${path} (${why})`);
  for (const each of sandboxes.kept) terminal.warn(`${sandbox(each)} was kept: ${each.why}`);
  for (const { path, why } of kept) terminal.warn(`${path} was kept: ${why}`);
  if (events !== null && events > 0) terminal.note(`old events that are gone: ${events}`);
  if (removed.length + sandboxes.removed.length === 0 && !events) terminal.note("there is nothing to remove");
}

function addBackup(command: Command, runner: VerbRunner): void {
  const backup = kanbanVerb(command, "backup", "copy the database of all boards, also while others write to it")
    .argument("<file>", "a file that is not there yet")
    .action((file: string) =>
      runner.run(backup, async ({ app, terminal, flags }) => {
        const made = await boardBackup.run(app, { file });
        if (flags.json) return terminal.json(made);
        terminal.note(`all boards are in ${made.file}, ${readableSize(made.bytes)}`);
      }),
    );
  addHelpNotes(backup, { examples: [["holdfast kanban backup boards.db", "whole and consistent; attachments are not in it"]] });
}

function addRepair(command: Command, runner: VerbRunner): void {
  const repair = kanbanVerb(command, "repair", "put right what is wrong in the database of the boards, after taking a copy").action(() =>
    runner.run(repair, async ({ app, terminal, flags }) => {
      const result = await boardRepair.run(app, {});
      if (flags.json) terminal.json(result);
      else showRepaired(result, terminal);
      return result.sound ? 0 : EXIT_DAMAGED;
    }),
  );
  addHelpNotes(repair, {
    examples: [["holdfast kanban repair", "the copy has the date in its name, and the last ten are kept"]],
    exit: [
      ["0", "nothing is wrong, or nothing is any more"],
      ["1", "something is still wrong, or Holdfast failed; the message says why"],
      ["2", "the command line was not understood"],
    ],
  });
}

function showRepaired({ backup, repaired, left, sound }: Repaired, terminal: Terminal): void {
  if (backup !== null) terminal.note(`a copy of how it was is in ${backup}`);
  for (const text of repaired) terminal.fact("put right", text);
  for (const text of left) terminal.fact("still wrong", text);
  if (sound) terminal.note(repaired.length === 0 ? "nothing is wrong" : "nothing is wrong any more");
}
