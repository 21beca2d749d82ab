/** @module holdfast kanban decompose, specify and swarm: one task becomes several (K35). */
import { type Command, Option } from "commander";
import { type DecomposeResult, planDecompose } from "../../app/operations/plan-decompose.ts";
import { planSpecify } from "../../app/operations/plan-specify.ts";
import { planSwarm } from "../../app/operations/plan-swarm.ts";
import { HoldfastError } from "../../base/errors.ts";
import { repeatable } from "../flags.ts";
import type { Terminal } from "../render.ts";
import { numberFor } from "../values.ts";
import { addHelpNotes, type HelpNotes, type RegisterVerb, type VerbRunner } from "../verb.ts";
import { type Flags, givenTexts, kanbanVerb } from "./kanban-verb.ts";

const EXIT_NOT_ALL = 1;
const EXIT: HelpNotes["exit"] = [
  ["0", "done, also if no task is in triage"],
  ["1", "a task was left as it is, or Holdfast failed; the message says why"],
  ["2", "the command line was not understood"],
];

export const registerPlans: RegisterVerb = (command, { runner }) => {
  addDecompose(command, runner);
  addSpecify(command, runner);
  addSwarm(command, runner);
};

function addDecompose(command: Command, runner: VerbRunner): void {
  const decompose = kanbanVerb(command, "decompose", "let a model split a task of triage into linked tasks")
    .argument("[id]", "the task")
    .option("--all", "every task in triage")
    .option("-n, --dry-run", "ask the model, and only say what would be made")
    .action((id: string | undefined) =>
      runner.run(decompose, async ({ app, terminal, flags }) => {
        const chosen = chosenBy(id, flags);
        const dryRun = flags.dryRun === true;
        const results = await planDecompose.run(app, { ...chosen, dryRun });
        if (flags.json) terminal.json(results);
        else for (const result of results) showDecomposed(result, { terminal, dryRun });
        return statusOf(results, { terminal, json: flags.json === true });
      }),
    );
  addHelpNotes(decompose, {
    examples: [
      ["holdfast kanban decompose t_1a2b3c4d --dry-run", "look first"],
      ["holdfast kanban decompose --all", "everything in triage"],
    ],
    exit: EXIT,
  });
}

function showDecomposed({ task, single, rationale, tasks, children, warnings }: DecomposeResult, { terminal, dryRun }: Showing): void {
  for (const warning of warnings ?? []) terminal.warn(warning);
  if (single) terminal.fact(task, `${dryRun ? "would stay" : "stays"} one task: ${single.title}`);
  else if (tasks) {
    terminal.fact(task, `${dryRun ? "would become" : "became"} ${tasks.length} tasks${rationale ? `: ${rationale}` : ""}`);
    const named = (index: number) => children?.[index] ?? `#${index + 1}`;
    terminal.table(
      ["TASK", "ASSIGNEE", "AFTER", "TITLE"],
      tasks.map(({ title, assignee, after }, index) => [named(index), assignee ?? "-", after.map(named).join(" ") || "-", title]),
    );
  }
}

interface Showing {
  readonly terminal: Terminal;
  readonly dryRun: boolean;
}

function addSpecify(command: Command, runner: VerbRunner): void {
  const specify = kanbanVerb(command, "specify", "let a model say better what a task of triage is about; then it is a task")
    .argument("[id]", "the task")
    .option("--all", "every task in triage")
    .action((id: string | undefined) =>
      runner.run(specify, async ({ app, terminal, flags }) => {
        const chosen = chosenBy(id, flags);
        const results = await planSpecify.run(app, chosen);
        if (flags.json) terminal.json(results);
        else for (const { task, title, status } of results) if (title !== undefined) terminal.fact(task, `${title} (${status})`);
        return statusOf(results, { terminal, json: flags.json === true });
      }),
    );
  addHelpNotes(specify, { examples: [["holdfast kanban specify t_1a2b3c4d", "a better title and body"]], exit: EXIT });
}

function statusOf(
  results: readonly { task: string; error?: string | undefined }[],
  { terminal, json }: { terminal: Terminal; json: boolean },
) {
  if (results.length === 0 && !json) terminal.note("no task is in triage");
  const failed = results.filter(({ error }) => error !== undefined);
  if (!json) for (const { task, error } of failed) terminal.warn(`${task} was left as it is: ${error}`);
  return failed.length > 0 ? EXIT_NOT_ALL : 0;
}

/** @throws `usage` unless it is one or all */
function chosenBy(id: string | undefined, flags: Flags): { id?: string; board?: string; all: boolean } {
  const all = flags.all === true;
  if ((id === undefined) === all) return { ...(id !== undefined && { id }), ...givenTexts(flags, ["board"]), all };
  throw new HoldfastError("usage", "name one task, or ask for all of them", { hint: "give the id of a task in triage, or --all" });
}

function addSwarm(command: Command, runner: VerbRunner): void {
  const workerFlag = new Option("--worker <profile:title[:skill,…]>", "one of those who work side by side; may be repeated");
  const swarm = kanbanVerb(command, "swarm", "build a swarm: workers side by side, a verifier after them, then a synthesizer")
    .argument("<goal>", "what all of it is for")
    .addOption(repeatable(workerFlag).makeOptionMandatory())
    .requiredOption("--verifier <profile>", "who checks what the workers did")
    .requiredOption("--synthesizer <profile>", "who puts it together")
    .option("--tenant <name>", "whose tasks they are")
    .option("--priority <number>", "higher comes first", numberFor("--priority", { least: Number.MIN_SAFE_INTEGER, whole: true }))
    .option("--idempotency-key <key>", "asking again with the same key gives the first swarm")
    .action((goal: string) =>
      runner.run(swarm, async ({ app, terminal, flags }) => {
        const { verifier, synthesizer, worker, priority } = flags as Record<"verifier" | "synthesizer", string> & {
          worker: string[];
          priority?: number;
        };
        const more = { ...givenTexts(flags, ["board", "tenant", "idempotencyKey"]), ...(priority !== undefined && { priority }) };
        const made = await planSwarm.run(app, { goal, workers: worker.map(readWorker), verifier, synthesizer, ...more });
        if (flags.json) return terminal.json(made);
        if (!made.created) terminal.note("this swarm was built before");
        terminal.fact("blackboard", made.root);
        terminal.fact("workers", made.workers.join(", "));
        terminal.fact("verifier", made.verifier);
        terminal.fact("synthesizer", made.synthesizer);
      }),
    );
  addHelpNotes(swarm, {
    examples: [
      [
        "holdfast kanban swarm 'Compare three libraries' --worker ada:'Look at A' --worker bob:'Look at B' --verifier carl --synthesizer dora",
        "four tasks that wait for one another",
      ],
    ],
  });
}

/** What follows the last colon is skills only if it looks like names, so that a title may have colons. */
function readWorker(text: string): { profile: string; title: string; skills?: string[] } {
  const [, profile = "", rest = ""] = /^([^:]*):(.*)$/s.exec(text) ?? [];
  const [, title, skills] = /^(.*\S.*):([A-Za-z0-9_.-]+(?:,[A-Za-z0-9_.-]+)*)$/s.exec(rest) ?? [];
  if (profile.trim() === "" || rest.trim() === "") {
    throw new HoldfastError("usage", `--worker needs a profile and a title, not ${JSON.stringify(text.slice(0, 80))}`, {
      hint: "for example --worker 'ada:Look at the sources:research'",
    });
  }
  return title === undefined || skills === undefined ? { profile, title: rest } : { profile, title, skills: skills.split(",") };
}
