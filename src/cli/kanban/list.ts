/** @module holdfast kanban list: the board in columns. */
import { type Command, Option } from "commander";
import { taskList } from "../../app/operations/task-list.ts";
import { timeMark } from "../../app/task-marks.ts";
import { STATUS_ORDER } from "../../app/task-shapes.ts";
import type { Status } from "../../board/transitions.ts";
import { repeatable } from "../flags.ts";
import { page } from "../pager.ts";
import { unknownChoice } from "../usage.ts";
import { numberFor } from "../values.ts";
import { addHelpNotes, type VerbInvocation, type VerbRunner } from "../verb.ts";
import { boardLines, mark, type ViewTask } from "./board-view.ts";
import { given, kanbanVerb, number, text, texts } from "./kanban-verb.ts";

export function registerList(kanban: Command, runner: VerbRunner): void {
  const list = kanbanVerb(kanban, "list", "show the tasks of a board by status, with why each one waits")
    .alias("ls")
    .addOption(repeatable(new Option("--status <status>", "only those of this status; may be repeated")))
    .option("--assignee <profile>", "only those of this profile, or of nobody with none")
    .option("--mine", "only those of the profile that counts now")
    .option("--tenant <name>", "only those for this tenant")
    .option("--archived", "archived ones, too")
    .option(
      "--limit <count>",
      "most of each status (default: 200, of done and archived the newest 10)",
      numberFor("--limit", { least: 1, whole: true, example: "50" }),
    )
    .option("--flat", "one table instead of columns")
    .action(() => runner.run(list, listTasks));
  addHelpNotes(list, {
    examples: [
      ["holdfast kanban list", "columns as long as the screen, or sections where the terminal is narrow"],
      ["holdfast kanban list --status ready", "all of one status, through the pager if need be"],
      ["holdfast kanban list --status ready --status running --flat", "a table of two statuses"],
      ["holdfast kanban list --mine --json", "with all reasons why a task does not run"],
    ],
  });
}

async function listTasks({ app, terminal, flags }: VerbInvocation): Promise<void> {
  const status = texts(flags, "status")?.map(statusNamed);
  const named = text(flags, "assignee");
  const assignee = flags.mine === true ? app.profile.name : named === "none" ? null : named;
  const result = await taskList.run(app, {
    ...given({ board: text(flags, "board"), status, assignee, tenant: text(flags, "tenant"), limit: number(flags, "limit") }),
    archived: flags.archived === true,
  });
  if (flags.json) return terminal.json(result);
  const { board, tasks, more, counts } = result;
  const now = app.clock.now();
  if (flags.flat) {
    const titled = (task: ViewTask) => {
      const time = timeMark(task, now);
      return time === "" ? task.title : `${task.title}  (${time})`;
    };
    terminal.table(
      ["ID", "STATUS", "PRIORITY", "ASSIGNEE", "TITLE", "WHY"],
      tasks.map((task) => [task.id, task.status, String(task.priority), task.assignee ?? "-", titled(task), mark(task.why)]),
    );
    for (const [each, count] of Object.entries(more)) terminal.note(`${count ?? "some"} more are ${each}; --limit shows more`);
  } else {
    const { lines, cut } = boardLines({ statuses: STATUS_ORDER, tasks, counts, more, now }, terminal.size);
    await page(app, terminal, lines);
    if (cut !== null) terminal.note(`holdfast kanban list --status ${cut} shows all of them`);
    if (tasks.length === 0) terminal.note(`there is nothing to show on the board ${board}`);
  }
  const silent = tasks.flatMap(({ why }) => why).find(({ kind }) => kind === "no-dispatcher");
  if (silent) terminal.note(`${silent.text} (${silent.fix})`);
}

function statusNamed(word: string): Status {
  const found = STATUS_ORDER.find((status) => status === word.trim().toLowerCase());
  if (found) return found;
  throw unknownChoice("--status", word, STATUS_ORDER);
}
