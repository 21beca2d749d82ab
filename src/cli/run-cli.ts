/** @module One command line from its words to its exit status: finds the verb, loads only that one, tells what goes wrong. */
import { type Command, CommanderError } from "commander";
import { type AppOptions, createApp } from "../app/create-app.ts";
import { isPersonWithClaim, WAY_BACK } from "../app/worker-identity.ts";
import { systemClock } from "../base/clock.ts";
import { describeError, HoldfastError, wrapError } from "../base/errors.ts";
import { createLogger, THROWN } from "../base/log.ts";
import { parseFlag } from "../config/flags.ts";
import { flagsOf, type GlobalFlags } from "./flags.ts";
import { EXIT_HANGUP } from "./interrupt.ts";
import { hasFlag, type Line, pathOf, readLine } from "./line.ts";
import { createProgram, loadVerb } from "./program.ts";
import type { Terminal } from "./render.ts";
import { unknownVerb, usageError } from "./usage.ts";
import type { VerbRunner } from "./verb.ts";

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** A worker can tell from it that the task is no longer its own, and stop. */
const EXIT_CLAIM_LOST = 3;
/** Of verbs that hand through the status of something else: other runners use the same number for their own failures. */
const EXIT_RUNNER_FAILED = 125;
const RUNNERS = ["exec", "shell", "process wait", "process attach", "process watch"];
const EXIT_INTERRUPTED = 130;
/** What shells report for a program that a closed pipe has ended. */
const EXIT_READER_GONE = 141;
/** What the completion scripts call; no verb, so it shows nowhere. */
const COMPLETE = "__complete";

export interface CliOptions extends Pick<AppOptions, "environment" | "cwd"> {
  readonly terminal: Terminal;
}

export async function runCli(args: readonly string[], options: CliOptions): Promise<number> {
  const { terminal } = options;
  if (args[0] === COMPLETE) return completeLine(args.slice(1), options);
  let status = 0;
  const runner: VerbRunner = {
    async run(command, work) {
      const flags = flagsOf(command);
      const app = await createApp({ ...appOptions(options, flags), program: ["holdfast", ...pathOf(command)].join(" ") });
      try {
        status = (await work({ app, terminal, flags })) ?? 0;
      } finally {
        await app.close();
      }
    },
  };
  const program = createProgram(terminal);
  let line = readLine(program, args);
  try {
    const [verb] = pathOf(line.command);
    if (verb !== undefined) await loadVerb(program, verb, { terminal, runner });
    // Only now are the verb's own flags and verbs known.
    line = readLine(program, args);
    refuseUnknownVerb(line, args);
    const help = helpAskedFor(line);
    if (help) return await runCli(help, options);
    if (isBare(line)) line.command.outputHelp();
    else await parse(program, args);
    await terminal.flush();
    if (terminal.outputLoss instanceof Error) throw outputFailed(terminal.outputLoss);
    if (terminal.outputLoss === null) return status;
    return terminal.outputLoss === "terminal gone" ? EXIT_HANGUP : EXIT_READER_GONE;
  } catch (error) {
    const failure =
      error instanceof CommanderError
        ? usageError(error, line.command)
        : withWayBack(wrapError(error, "internal", "something unexpected happened"), options.environment);
    terminal.error(failure, { json: hasFlag(line, "--json"), debug: hasFlag(line, "--debug") });
    await terminal.flush();
    return statusOf(failure, line);
  }
}

function refuseUnknownVerb({ command, operands, unknownFlags }: Line, words: readonly string[]): void {
  const [word] = operands;
  if (command.commands.length === 0 || word === undefined || word === "help") return;
  const [flag] = unknownFlags;
  // After a flag that nobody knows, the word may be its value; then the flag is what to complain about.
  if (flag === undefined || words.indexOf(flag) > words.indexOf(word)) throw unknownVerb(command, word);
}

async function parse(program: Command, args: readonly string[]): Promise<void> {
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    // Thrown after the help or the version was printed.
    if (!(error instanceof CommanderError && error.exitCode === 0)) throw error;
  }
}

/** `help config set` and `config help set` are other ways to say `config set --help`. */
function helpAskedFor({ command, operands }: Line): string[] | null {
  if (command.commands.length === 0 || operands[0] !== "help") return null;
  return [...pathOf(command), ...operands.slice(1), "--help"];
}

/** Nothing but a verb that has verbs of its own: whoever writes that wants to know which. */
function isBare(line: Line): boolean {
  const { command, unknownFlags, help, awaiting } = line;
  return command.commands.length > 0 && unknownFlags.length === 0 && !help && !awaiting && !hasFlag(line, "--version");
}

function appOptions({ environment, cwd, terminal }: CliOptions, { profile, config = [], debug = false }: GlobalFlags): AppOptions {
  const log = createLogger({
    clock: systemClock,
    level: debug ? "debug" : "warn",
    sink(record) {
      if (debug) terminal.log(record);
      else if (record.fields[THROWN] !== true) terminal.warn(record.message);
    },
  });
  return { environment, cwd, profile, flags: config.map((text) => parseFlag("-c", text)), log };
}

/** Whoever has claimed a task by hand and forgot it in the shell is no worker who should stop. */
function withWayBack(error: HoldfastError, environment: CliOptions["environment"]): HoldfastError {
  if (error.code !== "claim-lost" || !isPersonWithClaim(environment)) return error;
  const { code, message, hint, facts } = error;
  return new HoldfastError(code, message, { hint: `${hint.replace(/\.$/, "")}; ${WAY_BACK}`, facts, cause: error });
}

function statusOf({ code, facts }: HoldfastError, { command }: Line): number {
  if (RUNNERS.includes(pathOf(command).join(" "))) return EXIT_RUNNER_FAILED;
  if (code === "aborted" && facts.signal === "SIGINT") return EXIT_INTERRUPTED;
  if (code === "claim-lost") return EXIT_CLAIM_LOST;
  return code === "usage" ? EXIT_USAGE : EXIT_FAILED;
}

async function completeLine(words: readonly string[], { environment, cwd, terminal }: CliOptions): Promise<number> {
  const { answerCompletion } = await import("./completion/answer.ts");
  const program = createProgram(terminal);
  const runner: VerbRunner = { run: async () => {} };
  const load = (verb: string) => loadVerb(program, verb, { terminal, runner });
  await answerCompletion(words, { program, load, environment, cwd, terminal });
  await terminal.flush();
  return 0;
}

function outputFailed(error: Error): HoldfastError {
  return new HoldfastError("output-failed", `standard output cannot be written: ${describeError(error)}`, { cause: error });
}
