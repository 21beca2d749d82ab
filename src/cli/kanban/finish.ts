/** @module holdfast kanban complete, block, request-review, request-changes: the words that a run ends with. */
import { type Command, Option } from "commander";
import { BLOCK_CHOICES, taskBlock } from "../../app/operations/task-block.ts";
import { taskComplete } from "../../app/operations/task-complete.ts";
import { taskRequestChanges } from "../../app/operations/task-request-changes.ts";
import { taskRequestReview } from "../../app/operations/task-request-review.ts";
import { HoldfastError } from "../../base/errors.ts";
import type { Task } from "../../board/task.ts";
import { repeatable } from "../flags.ts";
import { numberFor } from "../values.ts";
import { addHelpNotes, type VerbInvocation, type VerbRunner } from "../verb.ts";
import {
  CLAIM_EXIT,
  type Flags,
  given,
  idAndWord,
  jsonObject,
  kanbanVerb,
  number,
  onBoard,
  text,
  textOrInput,
  texts,
} from "./kanban-verb.ts";

/** What counts for one task only. */
const OF_ONE = ["summary", "metadata", "artifact", "created", "cost", "tokens"];

export function registerFinish(kanban: Command, runner: VerbRunner): void {
  const complete = handover(
    kanbanVerb(kanban, "complete", "complete tasks; what waited for them goes on at once").argument(
      "[id...]",
      "the tasks; a worker's own if left out",
    ),
  )
    .addOption(
      repeatable(new Option("--artifact <file>", "a file that shall outlive the workspace: it is attached first; may be repeated")),
    )
    .addOption(repeatable(new Option("--created <id>", "a task that was made on the way; it must exist; may be repeated")))
    .action((ids: string[]) => runner.run(complete, (invocation) => completeTasks(ids, invocation)));
  addHelpNotes(complete, {
    examples: [
      ["holdfast kanban complete --summary 'All tests pass'", "in a worker: its own task"],
      ["holdfast kanban complete --summary done --artifact report.pdf", "fails, and completes nothing, if the file cannot be saved"],
      ["holdfast kanban complete t_1a2b3c4d t_5e6f7a8b", "a person has done both"],
    ],
    exit: CLAIM_EXIT,
  });

  const block = kanbanVerb(kanban, "block", "block a task: it cannot go on without help")
    .argument("[id]", "the task; a worker's own if left out")
    .argument("[reason]", "what is missing")
    .addOption(new Option("--kind <kind>", "dependency: a linked task comes first, and then it goes on by itself").choices(BLOCK_CHOICES))
    .action((first: string | undefined, second: string | undefined) =>
      runner.run(block, async ({ app, terminal, flags }) => {
        const { id, word } = idAndWord(first, second, "reason");
        const kind = flags.kind as (typeof BLOCK_CHOICES)[number] | undefined;
        const reason = await textOrInput(terminal, word);
        tell(await taskBlock.run(app, { ...onBoard(flags), ...given({ id, kind }), reason }), { terminal, flags });
      }),
    );
  addHelpNotes(block, {
    examples: [
      ["holdfast kanban block 'which of the two logos?' --kind needs_input", "in a worker: its own task"],
      ["holdfast kanban block t_1a2b3c4d 'not this week'", "nobody takes it until it is unblocked"],
    ],
    exit: CLAIM_EXIT,
  });

  const review = handover(
    kanbanVerb(kanban, "request-review", "ask for a review: whoever takes the task next reviews it").argument(
      "[id]",
      "the task; a worker's own if left out",
    ),
  )
    .option("--reviewer <profile>", "who shall review it")
    .action((id: string | undefined) =>
      runner.run(review, async ({ app, terminal, flags }) => {
        tell(
          await taskRequestReview.run(app, {
            ...onBoard(flags),
            ...given({ id, reviewer: text(flags, "reviewer") }),
            ...handedOver(flags),
          }),
          {
            terminal,
            flags,
          },
        );
      }),
    );
  addHelpNotes(review, {
    examples: [["holdfast kanban request-review --summary 'see PR 7' --reviewer editor", "in a worker: its own task"]],
    exit: CLAIM_EXIT,
  });

  const changes = kanbanVerb(kanban, "request-changes", "end a review: whoever did the work goes on with it")
    .argument("[id]", "the task; a worker's own if left out")
    .argument("[reason]", "what is to be changed")
    .action((first: string | undefined, second: string | undefined) =>
      runner.run(changes, async ({ app, terminal, flags }) => {
        const { id, word } = idAndWord(first, second, "reason");
        tell(await taskRequestChanges.run(app, { ...onBoard(flags), ...given({ id }), reason: await textOrInput(terminal, word) }), {
          terminal,
          flags,
        });
      }),
    );
  addHelpNotes(changes, {
    examples: [["holdfast kanban request-changes 'the tests are missing'", "in a worker that reviews"]],
    exit: CLAIM_EXIT,
  });
}

function handover(command: Command): Command {
  return command
    .option("--summary <text>", "what was done, for people and for the tasks that come next; - takes it from standard input")
    .option("--metadata <json>", "the same for programs: a JSON object")
    .option("--cost <amount>", "what it has cost", numberFor("--cost", { example: "0.25" }))
    .option("--tokens <count>", "how many tokens it took", numberFor("--tokens", { whole: true, example: "12000" }));
}

function handedOver(flags: Flags) {
  return given({
    summary: text(flags, "summary"),
    metadata: jsonObject("--metadata", text(flags, "metadata")),
    cost: number(flags, "cost"),
    tokens: number(flags, "tokens"),
  });
}

async function completeTasks(ids: readonly string[], { app, terminal, flags }: VerbInvocation): Promise<void> {
  const ofOne = OF_ONE.find((name) => flags[name] !== undefined);
  if (ids.length > 1 && ofOne !== undefined)
    throw new HoldfastError("usage", `--${ofOne} is for one task, and ${ids.length} are named`, { hint: "complete them one by one" });
  const summary = flags.summary === "-" ? { summary: await textOrInput(terminal, "-") } : {};
  const options = { ...handedOver(flags), ...summary, ...given({ artifacts: texts(flags, "artifact"), created: texts(flags, "created") }) };
  const results: Awaited<ReturnType<typeof taskComplete.run>>[] = [];
  try {
    for (const id of ids.length === 0 ? [undefined] : ids) {
      const result = await taskComplete.run(app, { ...onBoard(flags), ...given({ id }), ...options });
      results.push(result);
      if (flags.json) continue;
      terminal.note(`${result.task.id} is ${result.task.status}`);
      for (const { name, path } of result.artifacts) terminal.note(`${name} is kept in ${path}`);
    }
  } finally {
    if (flags.json && results.length > 0) terminal.json(ids.length > 1 ? results : results[0]);
  }
}

function tell(task: Task, { terminal, flags }: Pick<VerbInvocation, "terminal" | "flags">): void {
  if (flags.json) terminal.json(task);
  else terminal.note(`${task.id} is ${task.status}`);
}
