/** @module holdfast kanban promote, unblock, schedule, reopen, archive: moves that people make. */
import type { Command } from "commander";
import type { App } from "../../app/create-app.ts";
import { taskArchive } from "../../app/operations/task-archive.ts";
import { taskPromote } from "../../app/operations/task-promote.ts";
import { taskReopen } from "../../app/operations/task-reopen.ts";
import { taskSchedule } from "../../app/operations/task-schedule.ts";
import { taskUnblock } from "../../app/operations/task-unblock.ts";
import { DURATION_RULE } from "../../base/duration.ts";
import { HoldfastError } from "../../base/errors.ts";
import type { Task } from "../../board/task.ts";
import { addHelpNotes, type VerbInvocation, type VerbRunner } from "../verb.ts";
import { type Flags, given, kanbanVerb, onBoard, text } from "./kanban-verb.ts";
import { removeTasks } from "./remove.ts";
import { startTime, TIME_RULE } from "./time.ts";

export function registerMoves(kanban: Command, runner: VerbRunner): void {
  const verb = (name: string, summary: string, move: (app: App, id: string, flags: Flags) => Promise<Task>) => {
    const command = kanbanVerb(kanban, name, summary)
      .argument("<id...>", "one or more tasks")
      .action((ids: string[]) =>
        runner.run(command, (invocation) => forEach(ids, invocation, (id) => move(invocation.app, id, invocation.flags))),
      );
    return command;
  };

  addHelpNotes(
    verb("promote", "let tasks go on that wait in triage, or in todo with nothing left to wait for", (app, id, flags) =>
      taskPromote.run(app, { id, ...onBoard(flags) }),
    ),
    { examples: [["holdfast kanban promote t_1a2b3c4d", "the idea becomes a task"]] },
  );
  addHelpNotes(
    verb("unblock", "let blocked tasks go on, or wake scheduled ones", (app, id, flags) =>
      taskUnblock.run(app, { id, ...onBoard(flags), ...given({ reason: text(flags, "reason") }) }),
    ).option("--reason <text>", "why it can go on"),
    { examples: [["holdfast kanban unblock t_1a2b3c4d --reason 'the key is there'", "its failures are forgotten"]] },
  );
  addHelpNotes(
    verb("schedule", "put tasks off until a time; then they wake by themselves", (app, id, flags) => {
      const time = startTime(given({ at: text(flags, "at"), in: text(flags, "in") }), app.clock);
      if (time === undefined) throw new HoldfastError("usage", "missing --at or --in", { hint: "say when it shall wake" });
      return taskSchedule.run(app, { id, time, ...onBoard(flags), ...given({ reason: text(flags, "reason") }) });
    })
      .option("--at <time>", TIME_RULE)
      .option("--in <duration>", DURATION_RULE)
      .option("--reason <text>", "why not now"),
    {
      examples: [
        ["holdfast kanban schedule t_1a2b3c4d --in 2h", "nobody takes it before"],
        ["holdfast kanban schedule t_1a2b3c4d --at 2026-12-24T18:00", "in the caller's own time zone"],
      ],
    },
  );
  addHelpNotes(
    verb("reopen", "take up tasks again that are done or archived; what waits for them waits again", (app, id, flags) =>
      taskReopen.run(app, { id, ...onBoard(flags), ...given({ reason: text(flags, "reason") }) }),
    ).option("--reason <text>", "why it is not finished"),
    { examples: [["holdfast kanban reopen t_1a2b3c4d --reason 'the link is dead'", "for whoever did the work"]] },
  );

  const archive = kanbanVerb(kanban, "archive", "put tasks out of sight; what waited for them goes on")
    .argument("<id...>", "one or more tasks")
    .option("--rm", "remove tasks that are archived, with their attachments, logs and workspaces, for ever")
    .option("--yes", "with --rm: do not ask")
    .action((ids: string[]) =>
      runner.run(archive, (invocation) => {
        const { app, flags } = invocation;
        if (flags.rm === true) return removeTasks(ids, invocation);
        if (flags.yes === true) throw new HoldfastError("usage", "--yes is only for --rm", { hint: "leave it out" });
        return forEach(ids, invocation, (id) => taskArchive.run(app, { id, ...onBoard(flags) }));
      }),
    );
  addHelpNotes(archive, {
    examples: [
      ["holdfast kanban archive t_1a2b3c4d t_5e6f7a8b", "list --archived still shows them"],
      ["holdfast kanban archive t_1a2b3c4d --rm", "one that is archived goes for ever, after a question"],
    ],
  });
}

/** One after the other; the first that is refused ends it, and those before it stay moved. */
export async function forEach(
  ids: readonly string[],
  { terminal, flags }: VerbInvocation,
  move: (id: string) => Promise<Task>,
): Promise<void> {
  const moved: Task[] = [];
  try {
    for (const id of ids) {
      const task = await move(id);
      moved.push(task);
      if (!flags.json) terminal.note(`${task.id} is ${task.status}`);
    }
  } finally {
    if (flags.json && moved.length > 0) terminal.json(moved);
  }
}
