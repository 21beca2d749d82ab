/** @module holdfast kanban runs, log, context, stats: looking at what was done. */
import type { Command } from "commander";
import type { App } from "../../app/create-app.ts";
import { taskContext } from "../../app/operations/task-context.ts";
import { taskRuns } from "../../app/operations/task-runs.ts";
import { taskStats } from "../../app/operations/task-stats.ts";
import { readLog } from "../../app/task-log.ts";
import { formatDuration } from "../../base/duration.ts";
import { interruptible } from "../interruptible.ts";
import { numberFor } from "../values.ts";
import { addHelpNotes, type VerbInvocation, type VerbRunner } from "../verb.ts";
import { FOLLOW_EXIT, given, kanbanVerb, number, text } from "./kanban-verb.ts";
import { showRun } from "./show.ts";

export function registerLook(kanban: Command, runner: VerbRunner): void {
  const runs = kanbanVerb(kanban, "runs", "list the runs of a task, oldest first")
    .argument("[id]", "the task; a worker's own if left out")
    .action((id: string | undefined) =>
      runner.run(runs, async ({ app, terminal, flags }) => {
        const found = await taskRuns.run(app, given({ id, board: text(flags, "board") }));
        if (flags.json) return terminal.json(found);
        for (const run of found) showRun(terminal, run, app.clock.now());
        // Only a worker leaves out the id, and its own task has a run.
        if (found.length === 0) terminal.note(`nobody has worked on this task yet (holdfast kanban why ${id})`);
      }),
    );
  addHelpNotes(runs, { examples: [["holdfast kanban runs t_1a2b3c4d", "each attempt with what came of it"]] });

  const log = kanbanVerb(kanban, "log", "print what the workers of a task have printed")
    .argument("[id]", "the task; a worker's own if left out")
    .option("--tail <bytes>", "only so much of the end", numberFor("--tail", { least: 1, whole: true, example: "2000" }))
    .option("-f, --follow", "go on until Ctrl-C")
    .action((id: string | undefined) => runner.run(log, (invocation) => printLog(id, invocation)));
  addHelpNotes(log, {
    examples: [
      ["holdfast kanban log t_1a2b3c4d --tail 2000", "the last 2,000 bytes"],
      ["holdfast kanban log t_1a2b3c4d -f", "all of it, and what is to come"],
    ],
    exit: FOLLOW_EXIT,
  });

  const context = kanbanVerb(kanban, "context", "print all that a worker should know about a task, as one text")
    .argument("[id]", "the task; a worker's own if left out")
    .action((id: string | undefined) =>
      runner.run(context, async ({ app, terminal, flags }) => {
        const result = await taskContext.run(app, given({ id, board: text(flags, "board") }));
        if (flags.json) return terminal.json(result);
        terminal.text(result.text.trimEnd(), { indent: 0 });
      }),
    );
  addHelpNotes(context, { examples: [["holdfast kanban context | my-agent", "in a worker: its own task, as Markdown"]] });

  const stats = kanbanVerb(kanban, "stats", "show how a board is doing, in numbers").action(() => runner.run(stats, showStats));
  addHelpNotes(stats, { examples: [["holdfast kanban stats", "how many tasks, whose, and what they have cost"]] });
}

async function printLog(id: string | undefined, { app, terminal, flags }: VerbInvocation): Promise<number> {
  return interruptible(terminal, async (signal) => {
    const task = given({ id, board: text(flags, "board") });
    const wanted = { ...task, ...given({ tail: number(flags, "tail"), follow: flags.follow ? signal : undefined }) };
    // Before following, too: who looks at nothing should know what there is to wait for.
    if (!flags.json && !(await hasLog(app, task)))
      terminal.note("there is no log of this task here: no worker of it has printed anything, or its log was removed");
    const decoder = new TextDecoder();
    for await (const chunk of readLog(app, wanted)) {
      if (signal.aborted) break;
      await (flags.json ? terminal.jsonLine({ text: decoder.decode(chunk, { stream: true }) }) : terminal.bytes(chunk, "stdout"));
    }
    signal.throwIfAborted();
    return 0;
  });
}

async function hasLog(app: App, task: { id?: string; board?: string }): Promise<boolean> {
  for await (const _ of readLog(app, { ...task, tail: 1 })) return true;
  return false;
}

async function showStats({ app, terminal, flags }: VerbInvocation): Promise<void> {
  const result = await taskStats.run(app, given({ board: text(flags, "board") }));
  if (flags.json) return terminal.json(result);
  const { board, counts, assignees, oldestReadyMs, runs, usage, dispatcher } = result;
  terminal.fact("board", board);
  terminal.fact("dispatcher", dispatcher ?? "none is alive");
  terminal.fact("tasks", countWords(counts));
  if (oldestReadyMs !== null) terminal.fact("oldest ready", formatDuration(oldestReadyMs));
  terminal.fact("runs", countWords(runs));
  terminal.fact("usage", `${usage.runs} runs, ${usage.tokens} tokens, cost ${usage.cost}`);
  for (const { assignee, counts: own } of assignees) terminal.fact(assignee ?? "nobody", countWords(own));
}

function countWords(counts: Readonly<Partial<Record<string, number>>>): string {
  const words = Object.entries(counts).flatMap(([status, count]) => (count ? [`${count} ${status}`] : []));
  return words.join(", ") || "none";
}
