/** @module holdfast process: commands in the background, from any host process. */
import { addAbortSignal } from "node:stream";
import { type Command, Option } from "commander";
import { findProcess } from "../../app/find-process.ts";
import { processKill } from "../../app/operations/process-kill.ts";
import { processList } from "../../app/operations/process-list.ts";
import { processRemove } from "../../app/operations/process-remove.ts";
import { startInSandbox } from "../../app/operations/process-start.ts";
import { waitForProcess } from "../../app/operations/process-wait.ts";
import { untilAborted } from "../../base/abort.ts";
import { HoldfastError } from "../../base/errors.ts";
import { DEFAULT_SESSION, DEFAULT_TASK } from "../../base/names.ts";
import type { ProcessInfo, ProcessOptions } from "../../sandbox/process.ts";
import { attachTerminal } from "../attach-terminal.ts";
import { DEFAULT_DETACH_KEYS, parseDetachKeys } from "../detach-keys.ts";
import { repeatable } from "../flags.ts";
import { interruptible } from "../interruptible.ts";
import { refuseFleeting } from "../needs-persistence.ts";
import { parsePatterns, showLogs, showMatches } from "../process-streams.ts";
import { openScreen, USUAL_SIZE } from "../screen.ts";
import { commandOf, envOption, numberFor, readableSize, terminalVariables, variables } from "../values.ts";
import { addHelpNotes, addSubverb, type HelpNotes, type RegisterVerb, type VerbInvocation } from "../verb.ts";

const MEGABYTE = 1024 * 1024;
const LONGEST_SHOWN = 60;

const ITS_STATUS: HelpNotes["exit"] = [
  ["0…", "the status of the process"],
  ["125", "Holdfast itself failed; the message says why"],
  ["130", "interrupted (Ctrl-C), which the process does not notice"],
];

export const register: RegisterVerb = (command, { runner }) => {
  addHelpNotes(command.usage("[options] <verb>"), {
    examples: [
      ["holdfast process start --name web -- npm start", "prints its id and comes back at once"],
      ["holdfast process logs -f web", "what it writes, until it ends"],
      ["holdfast process kill web", "end it, and all that came from it"],
    ],
  });

  const start = addSubverb(command, "start", "start a command in the background")
    .usage("[options] [--] <command...>")
    .argument("<command...>", "one argument is shell text, several are run as they are")
    .option("--name <text>", "a name for people")
    .option("-t, --task <name>", "the task whose sandbox to use", DEFAULT_TASK)
    .option("-s, --session <name>", "the shell state it begins with; nothing it changes is saved", DEFAULT_SESSION)
    .option("--cwd <directory>", "run in this directory")
    .addOption(envOption())
    .option("--stdin", "keep its standard input open for holdfast process write")
    .option("--tty", "give it a terminal, for holdfast process attach")
    .option("--keep-mb <number>", "how much of its output is kept; 0 keeps all (default: 64)", numberFor("--keep-mb"))
    .passThroughOptions()
    .action((words: string[]) => runner.run(start, (invocation) => startProcess(words, invocation)));
  addHelpNotes(start, {
    examples: [
      ["holdfast process start --name web -- npm start", "a server that stays"],
      ["id=$(holdfast process start -- 'make 2>&1')", "for scripts: the id is all it prints"],
    ],
  });

  const list = addSubverb(command, "ls", "list the processes in a sandbox").alias("list");
  taskFlag(list).action(() => runner.run(list, listProcesses));
  addHelpNotes(list, { examples: [["holdfast process ls --task build", "those of the task's sandbox, oldest first"]] });

  const logs = processVerb(command, "logs", "print the output of a process")
    .option("-f, --follow", "go on until it ends")
    .option("--from <byte>", "begin at this byte, counted from the first it ever wrote", numberFor("--from", { whole: true, example: "0" }))
    .option("--tail <bytes>", "only so much of the end", numberFor("--tail", { least: 1, whole: true, example: "2000" }))
    .action((wanted: string) =>
      runner.run(logs, async ({ app, terminal, flags }) => {
        if (flags.from !== undefined && flags.tail !== undefined) throw notBoth("--from", "--tail");
        const from = flags.tail === undefined ? Number(flags.from ?? 0) : -Number(flags.tail);
        return showLogs(app, terminal, { ...target(flags, wanted), from, follow: flags.follow === true });
      }),
    );
  addHelpNotes(logs, {
    examples: [
      ["holdfast process logs -f web", "all of it, and what is to come"],
      ["holdfast process logs --tail 2000 web", "the last 2,000 bytes"],
      ["holdfast process logs --json web", "one JSON object per line: offset, length, text"],
    ],
  });

  const wait = processVerb(command, "wait", "wait until a process ends").action((wanted: string) =>
    runner.run(wait, ({ app, terminal, flags }) =>
      interruptible(terminal, async (signal) => {
        const end = await waitForProcess(app, String(flags.task), { wanted, signal });
        if (flags.json) terminal.json(end);
        return end.exitCode;
      }),
    ),
  );
  addHelpNotes(wait, { examples: [["holdfast process wait web", "ends with the status of the process"]], exit: ITS_STATUS });

  const kill = processVerb(command, "kill", "end a process and all that came from it")
    .option("--grace <seconds>", "time between TERM and KILL (default: 2)", numberFor("--grace"))
    .option("--signal <name>", "only send this signal, by its name or number, and wait for nothing")
    .action((wanted: string) => runner.run(kill, (invocation) => killProcess(wanted, invocation)));
  addHelpNotes(kill, {
    examples: [
      ["holdfast process kill web", "TERM, two seconds, then KILL; comes back when all is gone"],
      ["holdfast process kill --signal HUP web", "as kill -HUP does"],
    ],
  });

  const write = processVerb(command, "write", "write to the standard input of a process")
    .argument("[text]", "what to write, as it is; without it, what is piped into holdfast")
    .option("--line", "with a line end behind it")
    .option("--end", "nothing more will come")
    .action((wanted: string, text: string | undefined) => runner.run(write, (invocation) => writeInput(wanted, text, invocation)));
  addHelpNotes(write, {
    examples: [
      ["holdfast process write --line repl 'print(1)'", "one line"],
      ["holdfast process write --end sort '' ", "only end its input"],
      ["cat data | holdfast process write --end sort", "from a pipe"],
    ],
  });

  const attach = processVerb(command, "attach", "join the terminal to a process", { json: false })
    .option("--detach-keys <keys>", "what to type to leave one with a terminal running; none turns that off", DEFAULT_DETACH_KEYS)
    .action((wanted: string) => runner.run(attach, (invocation) => attachProcess(wanted, invocation)));
  addHelpNotes(attach, {
    examples: [["holdfast process attach p_1a2b3c4d", "Ctrl-P Ctrl-Q leaves it running; Ctrl-C does, if it has no terminal"]],
    exit: [
      ["0…", "the status of the process; 0 after leaving it"],
      ["125", "Holdfast itself failed; the message says why"],
      ["129", "the terminal went away; 130 after Ctrl-C, 143 after SIGTERM; the process does not notice"],
    ],
  });

  const watch = processVerb(command, "watch", "tell about lines of its output that match")
    .addOption(repeatable(new Option("--match <text>", "a text in the line; may be repeated").makeOptionMandatory()))
    .option("--regex", "the texts are regular expressions")
    .option("--from <byte>", "begin at this byte of its output (default: now)", numberFor("--from", { whole: true, example: "0" }))
    .option("--count <n>", "end with status 0 after so many lines", numberFor("--count", { least: 1, whole: true, example: "1" }))
    .option("--max <count>", "at most so many lines per period (default: 8)", numberFor("--max", { least: 1, whole: true }))
    .option("--period <seconds>", "see --max (default: 10)", numberFor("--period", { least: 0.001 }))
    .action((wanted: string) =>
      runner.run(watch, async ({ app, terminal, flags }) =>
        showMatches(app, terminal, {
          ...target(flags, wanted),
          count: flags.count as number | undefined,
          patterns: parsePatterns(flags.match as string[], flags.regex === true),
          ...(flags.from === undefined ? {} : { from: Number(flags.from) }),
          ...(flags.max === undefined ? {} : { maxMatches: Number(flags.max) }),
          ...(flags.period === undefined ? {} : { periodMs: Math.ceil(Number(flags.period) * 1000) }),
        }),
      ),
    );
  addHelpNotes(watch, {
    examples: [
      ["holdfast process watch --match error web", "each new line with error in it, until the process ends"],
      ["holdfast process watch --from 0 --count 1 --match 'listening on' web", "wait until it is ready"],
      ["holdfast process watch --from 0 --json --match ready web", "one JSON object per line, from the beginning"],
    ],
    exit: [["0…", "the status of the process; with --count 0 after so many lines, and never 0 before"], ...ITS_STATUS.slice(1)],
  });

  const remove = processVerb(command, "rm", "forget a process that has ended, and its output")
    .alias("remove")
    .action((wanted: string) =>
      runner.run(remove, async ({ app, terminal, flags }) => {
        const result = await processRemove.run(app, { task: String(flags.task), process: wanted });
        if (flags.json) return terminal.json(result);
        terminal.note(`process ${result.removed} is forgotten`);
      }),
    );
  addHelpNotes(remove, { examples: [["holdfast process rm web", "the sandbox remembers up to 64 by itself"]] });
};

function processVerb(verb: Command, name: string, summary: string, options?: { json?: boolean }): Command {
  return taskFlag(addSubverb(verb, name, summary, options)).argument("<process>", "its id, the beginning of it, or its name");
}

function taskFlag(command: Command): Command {
  return command.option("-t, --task <name>", "the task whose sandbox it is in", DEFAULT_TASK);
}

function target(flags: VerbInvocation["flags"], wanted: string) {
  return { task: String(flags.task), wanted, json: flags.json === true };
}

interface StartFlags {
  task: string;
  session: string;
  name?: string;
  cwd?: string;
  env?: string[];
  stdin?: boolean;
  tty?: boolean;
  keepMb?: number;
  json?: boolean;
}

async function startProcess(words: string[], { app, terminal, flags }: VerbInvocation): Promise<void> {
  const { task, session, name, cwd, env = [], stdin, tty, keepMb, json } = flags as unknown as StartFlags;
  const size = tty ? (openScreen(terminal)?.size ?? USUAL_SIZE) : undefined;
  const options: ProcessOptions = {
    session,
    env: { ...(tty ? terminalVariables(app.environment) : {}), ...variables(env, app.environment) },
    ...(name === undefined ? {} : { name }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(stdin ? { stdin } : {}),
    ...(size ? { tty: size } : {}),
    ...(keepMb === undefined ? {} : { keepBytes: Math.round(keepMb * MEGABYTE) }),
  };
  await refuseFleeting(app, task, "the process");
  const { info } = await startInSandbox(app, task, { command: commandOf(words), options });
  if (json) terminal.json(info);
  else terminal.line(info.id);
}

async function listProcesses({ app, terminal, flags }: VerbInvocation): Promise<void> {
  const processes = await processList.run(app, { task: String(flags.task) });
  if (flags.json) return terminal.json(processes);
  terminal.table(
    ["ID", "NAME", "STATE", "STARTED", "OUTPUT", "COMMAND"],
    processes.map((info) => [
      info.id,
      info.name,
      stateOf(info),
      new Date(info.startedAt).toISOString(),
      readableSize(info.outputBytes),
      info.command.length > LONGEST_SHOWN ? `${info.command.slice(0, LONGEST_SHOWN)}…` : info.command,
    ]),
  );
}

function stateOf({ state, exitCode, signal }: ProcessInfo): string {
  return state === "running" ? state : (signal ?? `exit ${exitCode}`);
}

async function killProcess(wanted: string, { app, terminal, flags }: VerbInvocation): Promise<void> {
  const { task, grace, signal, json } = flags as unknown as { task: string; grace?: number; signal?: string; json?: boolean };
  if (grace !== undefined && signal !== undefined) throw notBoth("--grace", "--signal");
  const info = await processKill.run(app, { task, process: wanted, graceSeconds: grace, signal });
  if (json) return terminal.json(info);
  terminal.note(signal === undefined ? `process ${info.id} and all that came from it has ended` : `process ${info.id} was sent ${signal}`);
}

async function writeInput(wanted: string, text: string | undefined, { app, terminal, flags }: VerbInvocation): Promise<number> {
  return interruptible(terminal, async (signal) => {
    const { processes, info } = await findProcess(app, String(flags.task), wanted);
    let bytes = 0;
    const write = async (chunk: Uint8Array, end = false) => {
      await untilAborted(processes.write(info.id, chunk, { end }), signal, "interrupted before all was written");
      bytes += chunk.length;
    };
    if (text === undefined) for await (const chunk of addAbortSignal(signal, terminal.input)) await write(Buffer.from(chunk));
    const rest = Buffer.from(`${text ?? ""}${flags.line ? "\n" : ""}`);
    if (rest.length > 0 || flags.end) await write(rest, flags.end === true);
    if (flags.json) terminal.json({ id: info.id, bytes });
    return 0;
  });
}

async function attachProcess(wanted: string, { app, terminal, flags }: VerbInvocation): Promise<number> {
  const detachKeys = parseDetachKeys(String(flags.detachKeys));
  const { processes, info } = await findProcess(app, String(flags.task), wanted);
  const screen = info.tty ? openScreen(terminal) : null;
  if (info.tty && screen === null) {
    throw new HoldfastError("usage", `process ${info.id} has a terminal, so attaching to it needs one too`, {
      hint: "use holdfast process logs -f and holdfast process write instead",
    });
  }
  if (screen === null && info.state === "running") terminal.note(`Ctrl-C lets go of process ${info.id}, which runs on`);
  const { clock } = app;
  const end = await attachTerminal(terminal, {
    screen,
    detachKeys,
    clock,
    redraw: true,
    attach: (options) => processes.attach(info.id, options),
  });
  if (end.kind === "ended") return end.status.exitCode;
  if (end.kind === "hung up") return end.exitStatus;
  terminal.note(`process ${info.id} runs on`);
  return 0;
}

function notBoth(one: string, other: string): HoldfastError {
  return new HoldfastError("usage", `${one} and ${other} cannot be given together`, { hint: "leave one of them out" });
}
