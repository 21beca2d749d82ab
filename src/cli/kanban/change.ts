/** @module holdfast kanban edit, assign, reassign, reclaim, link, unlink: what people decide about tasks. */
import type { Command } from "commander";
import { taskAssign } from "../../app/operations/task-assign.ts";
import { taskEdit } from "../../app/operations/task-edit.ts";
import { taskLink, taskUnlink } from "../../app/operations/task-link.ts";
import { taskReclaim } from "../../app/operations/task-reclaim.ts";
import { createExplainer } from "../../app/task-why.ts";
import { HoldfastError } from "../../base/errors.ts";
import { addHelpNotes, type VerbInvocation, type VerbRunner } from "../verb.ts";
import { addFieldFlags, fieldsOf, notBoth } from "./create.ts";
import { CLAIM_EXIT, given, kanbanVerb, onBoard, text } from "./kanban-verb.ts";

const NOBODY = "none";
/** What `none` takes away again. */
const CLEARABLE = ["tenant", "branch", "model", "maxRuntime", "maxRetries", "deadline", "skill", "timeZone"] as const;

export function registerChange(kanban: Command, runner: VerbRunner): void {
  const edit = addFieldFlags(kanbanVerb(kanban, "edit", "change what a task says").argument("<id>", "the task"))
    .option("--title <title>", "one line")
    .option("--no-repeat", "no next one is made when it is done")
    .option("--clear <field>", `take away what was said about one of ${CLEARABLE.map(flagName).join(", ")}`)
    .action((id: string) => runner.run(edit, (invocation) => editTask(id, invocation)));
  addHelpNotes(edit, {
    examples: [
      ["holdfast kanban edit t_1a2b3c4d --priority 5", "only what is given changes"],
      ["holdfast kanban edit t_1a2b3c4d --clear deadline", "no deadline any more"],
      ["holdfast kanban edit t_1a2b3c4d --no-repeat", "this one is the last"],
    ],
  });

  const assign = kanbanVerb(kanban, "assign", "give a task to a profile")
    .argument("<id>", "the task")
    .argument("<profile>", `its name, or ${NOBODY}`)
    .action((id: string, profile: string) => runner.run(assign, (invocation) => assignTask({ id, profile }, invocation)));
  addHelpNotes(assign, {
    examples: [
      ["holdfast kanban assign t_1a2b3c4d writer", "refused while it is running"],
      ["holdfast kanban assign t_1a2b3c4d none", "to nobody"],
    ],
  });

  const reassign = kanbanVerb(kanban, "reassign", "give a task to another profile, with --reclaim also one that is being worked on")
    .argument("<id>", "the task")
    .argument("<profile>", `its name, or ${NOBODY}`)
    .option("--reclaim", "take it from whoever works on it first")
    .option("--reason <text>", "why")
    .action((id: string, profile: string) => runner.run(reassign, (invocation) => assignTask({ id, profile }, invocation)));
  addHelpNotes(reassign, { examples: [["holdfast kanban reassign t_1a2b3c4d editor --reclaim", "ends the worker, then assigns"]] });

  const reclaim = kanbanVerb(kanban, "reclaim", "take a task from whoever works on it; the worker is ended, the task is free again")
    .argument("<id>", "the task")
    .option("--reason <text>", "why")
    .option("--block", "nobody shall take it again until it is unblocked")
    .option("--gone", "its worker was on a machine or engine that is gone for good")
    .action((id: string) =>
      runner.run(reclaim, async ({ app, terminal, flags }) => {
        const task = await taskReclaim.run(app, {
          id,
          ...onBoard(flags),
          gone: flags.gone === true,
          block: flags.block === true,
          ...given({ reason: text(flags, "reason") }),
        });
        if (flags.json) return terminal.json(task);
        terminal.note(`${task.id} is ${task.status}${task.status === "blocked" ? "" : " again"}`);
      }),
    );
  addHelpNotes(reclaim, {
    examples: [
      ["holdfast kanban reclaim t_1a2b3c4d --reason 'a better model'", "it begins anew; its failures are forgotten"],
      ["holdfast kanban reclaim t_1a2b3c4d --block --reason 'it loops'", "it stops, and stays so"],
    ],
  });

  for (const [name, operation, summary, meaning] of LINKS) {
    const verb = kanbanVerb(kanban, name, summary)
      .argument("<parent>", "the task that comes first")
      .argument("<child>", "the task that waits")
      .action((parent: string, child: string) =>
        runner.run(verb, async ({ app, terminal, flags }) => {
          const task = await operation.run(app, { parent, child, ...onBoard(flags) });
          if (flags.json) return terminal.json(task);
          terminal.note(`${task.id} is ${task.status}`);
        }),
      );
    addHelpNotes(verb, { examples: [[`holdfast kanban ${name} t_1a2b3c4d t_5e6f7a8b`, meaning]], exit: CLAIM_EXIT });
  }
}

const LINKS = [
  ["link", taskLink, "let one task wait for another", "the second waits until the first is done or archived"],
  ["unlink", taskUnlink, "let one task no longer wait for another", "it goes on if nothing else holds it back"],
] as const;

async function editTask(id: string, invocation: VerbInvocation): Promise<void> {
  const { app, terminal, flags } = invocation;
  const said = await fieldsOf(invocation);
  if (flags.repeat === false && said.repeat !== undefined) throw notBoth("--no-repeat", "--every or --cron");
  const fields = {
    ...said,
    ...given({ title: text(flags, "title"), repeat: flags.repeat === false ? null : said.repeat }),
    ...cleared(text(flags, "clear")),
  };
  if (Object.keys(fields).length === 0)
    throw new HoldfastError("usage", "there is nothing to change", { hint: "see `holdfast kanban edit --help` for what can be changed" });
  const task = await taskEdit.run(app, { id, ...onBoard(flags), ...fields });
  if (flags.json) return terminal.json(task);
  terminal.note(`${task.id} is changed`);
  if (flags.repeat === false && task.successor !== null)
    terminal.warn(`the series goes on: its next one is there (holdfast kanban edit ${task.successor} --no-repeat)`);
}

function cleared(name: string | undefined): object {
  if (name === undefined) return {};
  const field = CLEARABLE.find((each) => flagName(each) === name.replace(/^--/, ""));
  if (field === undefined) {
    const known = CLEARABLE.map(flagName).join(", ");
    throw new HoldfastError("usage", `--clear must be one of ${known}, not ${JSON.stringify(name)}`, {
      hint: "the other fields always say something",
    });
  }
  return { [field === "maxRuntime" ? "maxRuntimeMs" : field === "skill" ? "skills" : field]: null };
}

function flagName(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

async function assignTask({ id, profile }: { id: string; profile: string }, { app, terminal, flags }: VerbInvocation): Promise<void> {
  const assignee = profile === NOBODY ? null : profile;
  const task = await taskAssign.run(app, {
    id,
    assignee,
    ...onBoard(flags),
    ...given({ reason: text(flags, "reason") }),
    reclaim: flags.reclaim === true,
  });
  if (flags.json) terminal.json(task);
  else terminal.note(`${task.id} is for ${task.assignee ?? "nobody"}`);
  const problems = (await (await createExplainer(app)).pickup(task)).filter(({ kind }) => kind.startsWith("profile-"));
  for (const { text: why, fix } of problems) terminal.warn(`nothing picks it up yet: ${why}${fix === null ? "" : ` (${fix})`}`);
}
