/** @module holdfast kanban create. */

import { readFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import { fromCaller } from "../../app/caller-directory.ts";
import { checkRepetition, checkZone } from "../../app/check-repeat.ts";
import type { App } from "../../app/create-app.ts";
import { hostFailed } from "../../app/host-file.ts";
import { taskCreate } from "../../app/operations/task-create.ts";
import { DURATION_RULE } from "../../base/duration.ts";
import { HoldfastError } from "../../base/errors.ts";
import { repeatable } from "../flags.ts";
import { asUsage } from "../usage.ts";
import { numberFor } from "../values.ts";
import { addHelpNotes, type VerbInvocation, type VerbRunner } from "../verb.ts";
import { CLAIM_EXIT, given, inputText, kanbanVerb, number, text, texts } from "./kanban-verb.ts";
import { parseLength, parseTime, startTime, TIME_RULE } from "./time.ts";

const LEAST_PRIORITY = -(2 ** 31) + 1;

export function registerCreate(kanban: Command, runner: VerbRunner): void {
  const create = addFieldFlags(kanbanVerb(kanban, "create", "make a task").argument("<title>", "one line"))
    .option("--assignee <profile>", "who works on it")
    .addOption(repeatable(new Option("--parent <id>", "a task that must be finished before; may be repeated")))
    .option("--idempotency-key <key>", "the board keeps one task of each key: asking again gives the first one")
    .option("--triage", "a rough idea, which nobody works on yet")
    .option("--blocked <reason>", "nobody takes it until it is unblocked")
    .option("--at <time>", `not before then: ${TIME_RULE}`)
    .option("--in <duration>", `not before so long from now: ${DURATION_RULE}`)
    .action((title: string) => runner.run(create, (invocation) => createTask(title, invocation)));
  addHelpNotes(create, {
    examples: [
      ["holdfast kanban create 'Write the notes' --assignee writer", "prints the id of the task"],
      ["holdfast kanban create 'Publish' --parent t_1a2b3c4d", "begins when that one is finished"],
      ["git log -5 | holdfast kanban create 'Sum it up' --body-file -", "the body from a pipe"],
      ["holdfast kanban create 'Look again' --in 2h", "wakes by itself"],
      ["holdfast kanban create 'Tidy up' --cron '0 9 * * 1-5' --time-zone Europe/Berlin", "again on each working day, when done"],
    ],
    exit: CLAIM_EXIT,
  });
}

/** What `create` and `edit` both take. */
export function addFieldFlags(command: Command): Command {
  return command
    .option("--body <text>", "what is to be done")
    .option("--body-file <file>", "the same from a file, or from standard input with -")
    .option("--priority <number>", "higher comes first", numberFor("--priority", { least: LEAST_PRIORITY, whole: true }))
    .option("--tenant <name>", "whom it is for")
    .option(
      "--workspace <place>",
      "where it is worked on: scratch (default), dir:/path, worktree (of the board's repository) or worktree:/path",
    )
    .option("--branch <name>", "the branch of its worktree")
    .option("--max-runtime <duration>", `how long a run may take: ${DURATION_RULE}`)
    .option("--max-retries <count>", "runs that may fail one after the other", numberFor("--max-retries", { whole: true, example: "3" }))
    .addOption(repeatable(new Option("--skill <name>", "a skill that the worker is told to use; may be repeated")))
    .option("--model <name>", "the model that the worker is told to use")
    .option("--deadline <time>", TIME_RULE)
    .option("--every <time>", "when it is done, the next one is made for so long after: 90m, 12h, 1d, 2w")
    .option("--cron <fields>", "the same at times of the clock: five fields of cron, such as '0 9 * * 1-5'")
    .option("--time-zone <name>", "of --cron, such as Europe/Berlin; else the machine's");
}

/** What those flags say. */
export async function fieldsOf({ app, terminal, flags }: VerbInvocation) {
  const bodyFile = text(flags, "bodyFile");
  if (bodyFile !== undefined && flags.body !== undefined) throw notBoth("--body", "--body-file");
  const maxRuntime = text(flags, "maxRuntime");
  const deadline = text(flags, "deadline");
  const every = text(flags, "every");
  const cron = text(flags, "cron");
  if (every !== undefined && cron !== undefined) throw notBoth("--every", "--cron");
  return given({
    body: bodyFile === undefined ? text(flags, "body") : bodyFile === "-" ? await inputText(terminal) : await fileText(app, bodyFile),
    priority: number(flags, "priority"),
    tenant: text(flags, "tenant"),
    workspace: text(flags, "workspace"),
    branch: text(flags, "branch"),
    maxRuntimeMs: maxRuntime === undefined ? undefined : parseLength("--max-runtime", maxRuntime),
    maxRetries: number(flags, "maxRetries"),
    skills: texts(flags, "skill"),
    model: text(flags, "model"),
    deadline: deadline === undefined ? undefined : parseTime("--deadline", deadline),
    repeat: await repeatOf({ every, cron }, app),
    timeZone: zoneOf(text(flags, "timeZone")),
  });
}

async function repeatOf({ every, cron }: { every: string | undefined; cron: string | undefined }, app: App): Promise<string | undefined> {
  const repeat = every === undefined ? cron : `every ${every.trim()}`;
  if (repeat === undefined) return undefined;
  try {
    await checkRepetition(app, repeat);
    return repeat;
  } catch (error) {
    if (!HoldfastError.isInstance(error)) throw error;
    const [flag, rule] =
      every === undefined
        ? ["--cron", "five fields: minute, hour, day of the month, month, day of the week, such as '0 9 * * 1-5'"]
        : ["--every", "a whole number and a unit of s, m, h, d, w, at most ten years: 90m, 12h, 1d, 2w"];
    const shown = JSON.stringify(String(every ?? cron).slice(0, 80));
    throw new HoldfastError("usage", `${flag} cannot be ${shown}`, { hint: `write ${rule}`, cause: error });
  }
}

function zoneOf(zone: string | undefined): string | undefined {
  try {
    if (zone !== undefined) checkZone(zone);
    return zone;
  } catch (error) {
    throw HoldfastError.isInstance(error) ? asUsage(error, `--time-zone is not a time zone: ${JSON.stringify(zone?.slice(0, 80))}`) : error;
  }
}

async function createTask(title: string, invocation: VerbInvocation): Promise<void> {
  const { app, terminal, flags } = invocation;
  const scheduledFor = startTime(given({ at: text(flags, "at"), in: text(flags, "in") }), app.clock);
  const starts = [flags.triage && "--triage", flags.blocked !== undefined && "--blocked", scheduledFor && "--at or --in"].filter(Boolean);
  if (starts.length > 1) throw notBoth(String(starts[0]), String(starts[1]));
  if (flags.timeZone !== undefined && flags.cron === undefined)
    throw new HoldfastError("usage", "--time-zone is only for --cron", { hint: "--every counts from when the task is done" });
  const result = await taskCreate.run(app, {
    title,
    ...(await fieldsOf(invocation)),
    ...given({
      board: text(flags, "board"),
      assignee: text(flags, "assignee"),
      parents: texts(flags, "parent"),
      idempotencyKey: text(flags, "idempotencyKey"),
      triage: flags.triage === true ? true : undefined,
      blocked: text(flags, "blocked"),
      scheduledFor,
    }),
  });
  const { task, created, warnings } = result;
  if (flags.json) terminal.json(result);
  else terminal.line(task.id);
  if (scheduledFor !== undefined && scheduledFor <= app.clock.now())
    terminal.warn(`--at is in the past, so ${task.id} wakes as soon as a dispatcher looks`);
  if (!created) return terminal.note(`${task.id} was there already, with the same idempotency key; it is ${task.status}`);
  if (task.deadline !== null && task.deadline <= app.clock.now())
    terminal.warn(`--deadline is in the past, so ${task.id} is blocked as soon as a dispatcher looks`);
  for (const { text: why, fix } of warnings) terminal.warn(`nothing picks it up yet: ${why}${fix === null ? "" : ` (${fix})`}`);
}

async function fileText(app: App, path: string): Promise<string> {
  return readFile(fromCaller(app, path), "utf8").catch((error: unknown) => Promise.reject(hostFailed(path, error)));
}

export function notBoth(one: string, other: string): HoldfastError {
  return new HoldfastError("usage", `${one} and ${other} cannot be given together`, { hint: "leave one of them out" });
}
