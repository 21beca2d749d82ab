/** @module holdfast kanban tail, watch: events as they happen. */
import { type Command, Option } from "commander";
import type { App } from "../../app/create-app.ts";
import { findTask } from "../../app/find-task.ts";
import { followEvents } from "../../app/follow-events.ts";
import { HoldfastError } from "../../base/errors.ts";
import type { BoardEvent } from "../../board/events.ts";
import { repeatable } from "../flags.ts";
import { interruptible } from "../interruptible.ts";
import type { Terminal } from "../render.ts";
import { numberFor } from "../values.ts";
import { addHelpNotes, type VerbRunner } from "../verb.ts";
import { FOLLOW_EXIT, given, kanbanVerb, number, text, texts } from "./kanban-verb.ts";
import { eventLine } from "./show.ts";

export function registerFollow(kanban: Command, runner: VerbRunner): void {
  const tail = kanbanVerb(kanban, "tail", "print the events of a task, and go on until Ctrl-C")
    .argument("[id]", "the task; a worker's own if left out")
    .option("--no-follow", "only what there is")
    .action((id: string | undefined) =>
      runner.run(tail, ({ app, terminal, flags }) =>
        interruptible(terminal, async (signal) => {
          const kanbanOfApp = await app.kanban();
          const { id: task } = await findTask(kanbanOfApp, given({ id, board: text(flags, "board") }));
          const events = flags.follow === false ? known(app, task) : followEvents(app, { task, since: 0, signal });
          await print(terminal, events, { json: flags.json === true, named: false });
          signal.throwIfAborted();
          return 0;
        }),
      ),
    );
  addHelpNotes(tail, { examples: [["holdfast kanban tail t_1a2b3c4d", "with --json, one object per line"]], exit: FOLLOW_EXIT });

  const watch = kanbanVerb(kanban, "watch", "print the events of a board as they happen, until Ctrl-C")
    .option("--assignee <profile>", "only of tasks of this profile")
    .addOption(repeatable(new Option("--kinds <kinds>", "only of these kinds, with commas; may be repeated")))
    .option("--since <event>", "begin after this event (default: now)", numberFor("--since", { whole: true, example: "0" }))
    .action(() =>
      runner.run(watch, ({ app, terminal, flags }) =>
        interruptible(terminal, async (signal) => {
          const opened = await app.kanban();
          opened.person("the events of a board");
          const { slug: board } = await opened.existingBoard(text(flags, "board"));
          const kinds = texts(flags, "kinds")?.flatMap((each) => each.split(",").map((kind) => kind.trim()));
          const since = number(flags, "since") ?? (await opened.store.lastEvent());
          const events = followEvents(app, { board, since, signal });
          const wanted = chosen(app, events, given({ kinds, assignee: text(flags, "assignee") }));
          if (!flags.json) terminal.note(`watching the board ${board}`);
          await print(terminal, wanted, { json: flags.json === true, named: true });
          signal.throwIfAborted();
          return 0;
        }),
      ),
    );
  addHelpNotes(watch, {
    examples: [
      ["holdfast kanban watch", "everything that happens on the board from now on"],
      ["holdfast kanban watch --kinds completed,blocked --json", "one object per line"],
    ],
    exit: FOLLOW_EXIT,
  });
}

async function* known(app: App, task: string): AsyncGenerator<BoardEvent> {
  yield* await (await app.kanban()).store.events({ task, limit: Number.MAX_SAFE_INTEGER });
}

async function* chosen(
  app: App,
  events: AsyncIterable<BoardEvent>,
  { kinds, assignee }: { kinds?: readonly string[]; assignee?: string },
): AsyncGenerator<BoardEvent> {
  for await (const event of events) {
    if (kinds !== undefined && !kinds.includes(event.kind)) continue;
    if (assignee === undefined || (await assigneeOf(app, event.task)) === assignee.trim().toLowerCase()) yield event;
  }
}

async function assigneeOf(app: App, task: string | null): Promise<string | null> {
  if (task === null) return null;
  const { store } = await app.kanban();
  try {
    return (await store.getTask(task)).assignee;
  } catch (error) {
    // It may have been removed since.
    if (HoldfastError.isInstance(error) && error.code === "task-not-found") return null;
    throw error;
  }
}

async function print(
  terminal: Terminal,
  events: AsyncIterable<BoardEvent>,
  { json, named }: { json: boolean; named: boolean },
): Promise<void> {
  for await (const event of events) {
    if (json) await terminal.jsonLine(event);
    else terminal.text(eventLine(event, { named }), { indent: 0 });
  }
}
