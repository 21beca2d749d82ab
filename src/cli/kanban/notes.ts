/** @module holdfast kanban comment, attach, attachments, claim, heartbeat: what is said and kept while a task is worked on. */
import type { Command } from "commander";
import { taskAttach } from "../../app/operations/task-attach.ts";
import { taskAttachments } from "../../app/operations/task-attachments.ts";
import { taskClaim } from "../../app/operations/task-claim.ts";
import { taskComment } from "../../app/operations/task-comment.ts";
import { taskHeartbeat } from "../../app/operations/task-heartbeat.ts";
import { DURATION_RULE } from "../../base/duration.ts";
import { readableSize } from "../values.ts";
import { addHelpNotes, type VerbRunner } from "../verb.ts";
import { CLAIM_EXIT, given, idAndWord, kanbanVerb, onBoard, text, textOrInput } from "./kanban-verb.ts";
import { parseLength, shown } from "./time.ts";

export function registerNotes(kanban: Command, runner: VerbRunner): void {
  const comment = kanbanVerb(kanban, "comment", "say something about a task")
    .argument("[id]", "the task; a worker's own if left out")
    .argument("[text]", "what to say; - takes it from standard input")
    .action((first: string | undefined, second: string | undefined) =>
      runner.run(comment, async ({ app, terminal, flags }) => {
        const { id, word } = idAndWord(first, second, "text");
        const made = await taskComment.run(app, { ...onBoard(flags), ...given({ id }), body: await textOrInput(terminal, word) });
        if (flags.json) return terminal.json(made);
        terminal.note(`${made.author} has commented on ${made.task}`);
      }),
    );
  addHelpNotes(comment, {
    examples: [
      ["holdfast kanban comment t_1a2b3c4d 'use the new logo'", "in the name of the profile that counts"],
      ["make 2>&1 | tail | holdfast kanban comment t_1a2b3c4d -", "from a pipe"],
    ],
    exit: CLAIM_EXIT,
  });

  const attach = kanbanVerb(kanban, "attach", "attach a copy of a file to a task, at most 25 MiB")
    .argument("[id]", "the task; a worker's own if left out")
    .argument("[file]", "a regular file; a worker's must be in its workspace")
    .option("--name <name>", "another name for it")
    .option("--content-type <type>", "what it holds; else by the end of its name")
    .action((first: string | undefined, second: string | undefined) =>
      runner.run(attach, async ({ app, terminal, flags }) => {
        const { id, word: path } = idAndWord(first, second, "file");
        const made = await taskAttach.run(app, {
          ...onBoard(flags),
          ...given({ id, name: text(flags, "name"), contentType: text(flags, "contentType") }),
          path,
        });
        if (flags.json) return terminal.json(made);
        terminal.note(`${made.name} is attached to ${made.task}: ${made.path}`);
      }),
    );
  addHelpNotes(attach, { examples: [["holdfast kanban attach t_1a2b3c4d logo.png", "its workers find it by its path"]], exit: CLAIM_EXIT });

  const attachments = kanbanVerb(kanban, "attachments", "list the attachments of a task")
    .argument("[id]", "the task; a worker's own if left out")
    .action((id: string | undefined) =>
      runner.run(attachments, async ({ app, terminal, flags }) => {
        const found = await taskAttachments.run(app, given({ id, board: text(flags, "board") }));
        if (flags.json) return terminal.json(found);
        terminal.table(
          ["ID", "NAME", "SIZE", "TYPE", "BY", "PATH"],
          found.map((each) => [String(each.id), each.name, readableSize(each.size), each.contentType, each.addedBy, each.path]),
        );
      }),
    );
  addHelpNotes(attachments, { examples: [["holdfast kanban attachments t_1a2b3c4d", "with where their files are"]] });

  const claim = kanbanVerb(kanban, "claim", "take a task and work on it oneself, in place of a worker")
    .argument("<id>", "the task")
    .option("--ttl <duration>", `how long the claim lasts without a heartbeat: ${DURATION_RULE} (default: kanban.claim_ttl_seconds)`)
    .action((id: string) =>
      runner.run(claim, async ({ app, terminal, flags }) => {
        const ttl = text(flags, "ttl");
        const claimed = await taskClaim.run(app, {
          id,
          ...onBoard(flags),
          ...given({ ttlMs: ttl === undefined ? undefined : parseLength("--ttl", ttl) }),
        });
        if (flags.json) return terminal.json(claimed);
        for (const [name, value] of Object.entries(claimed.env)) terminal.line(`export ${name}=${value}`);
        terminal.note(
          `${claimed.task.id} is yours until ${shown(claimed.run.expiresAt ?? 0)}; with these variables set, verbs act as its run`,
        );
        terminal.note(
          `\`holdfast kanban heartbeat\` keeps it longer; afterwards \`unset ${Object.keys(claimed.env).join(" ")}\` lets this shell act as you again`,
        );
        if (claimed.workspace !== null) terminal.note(`its files belong in ${claimed.workspace}`);
      }),
    );
  addHelpNotes(claim, {
    examples: [
      ['eval "$(holdfast kanban claim t_1a2b3c4d)"', "this shell acts as its run from now on"],
      ["holdfast kanban claim t_1a2b3c4d --ttl 2h --json", "with the token, which is given out only once"],
    ],
  });

  const heartbeat = kanbanVerb(kanban, "heartbeat", "say that the worker of a task lives, and keep the claim that much longer")
    .argument("[id]", "the task; a worker's own if left out")
    .option("--token <token>", "of the run; else HOLDFAST_RUN_TOKEN")
    .action((id: string | undefined) =>
      runner.run(heartbeat, async ({ app, terminal, flags }) => {
        const run = await taskHeartbeat.run(app, { ...onBoard(flags), ...given({ id, token: text(flags, "token") }) });
        if (flags.json) return terminal.json(run);
        terminal.note(`the claim on ${run.task} lasts until ${shown(run.expiresAt ?? 0)}`);
      }),
    );
  addHelpNotes(heartbeat, { examples: [["holdfast kanban heartbeat", "in a worker: its own task"]], exit: CLAIM_EXIT });
}
