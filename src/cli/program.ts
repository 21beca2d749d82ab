/** @module The command line as a whole: finds the verb, loads only that one, turns failures into one sentence and a hint. */
import { Command, CommanderError } from "commander";
import { type AppOptions, createApp } from "../app/create-app.ts";
import { systemClock } from "../base/clock.ts";
import { HoldfastError, wrapError } from "../base/errors.ts";
import { createLogger } from "../base/log.ts";
import { suggest } from "../base/suggest.ts";
import { holdfastVersion } from "../base/version.ts";
import { VERBS } from "./commands/index.ts";
import { addGlobalFlags, flagsOf, type GlobalFlags } from "./flags.ts";
import type { Terminal } from "./render.ts";
import type { VerbRunner } from "./verb.ts";

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** `exec` hands through the command's own status, so its failures use the number that other runners use for this. */
const EXIT_EXEC_FAILED = 125;
const FLAGS_WITH_VALUE = ["-p", "--profile", "-c", "--config"];

export interface CliOptions extends Pick<AppOptions, "environment" | "cwd"> {
  readonly terminal: Terminal;
}

/** Runs one command line and gives the exit status. */
export async function runCli(args: readonly string[], options: CliOptions): Promise<number> {
  const { terminal } = options;
  const verb = verbOf(args);
  let status = 0;
  const runner: VerbRunner = {
    async run(command, work) {
      const flags = flagsOf(command);
      const app = await createApp({ ...appOptions(options, flags) });
      try {
        status = (await work({ app, terminal, flags })) ?? 0;
      } finally {
        const { left } = await app.close();
        for (const what of left) terminal.warn(`not finished in time, left as it is: ${what}`);
      }
    },
  };
  try {
    const program = await buildProgram({ terminal, runner, only: verb });
    await program.parseAsync([...args], { from: "user" });
    return status;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const failure = error instanceof CommanderError ? usageError(error) : wrapError(error, "internal", "something unexpected happened");
    terminal.error(failure, { json: args.includes("--json"), debug: args.includes("--debug") });
    if (verb === "exec") return EXIT_EXEC_FAILED;
    return failure.code === "usage" ? EXIT_USAGE : EXIT_FAILED;
  }
}

/** With `only`, the other verbs are there by name and summary alone. */
export async function buildProgram({
  terminal,
  runner,
  only,
}: {
  terminal: Terminal;
  runner: VerbRunner;
  only?: string | undefined;
}): Promise<Command> {
  const program = addGlobalFlags(new Command("holdfast"))
    .description("Computers that stay, for AI agents.")
    .version(holdfastVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [verb]", "show help for a verb")
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.line(text.trimEnd()), writeErr: () => {} })
    .addHelpText("after", "\nStart here:\n  holdfast exec -- 'echo hello > note && pwd'\n  holdfast exec -- cat note");
  for (const entry of VERBS) {
    const command = addGlobalFlags(program.command(entry.name).description(entry.summary));
    if (only === undefined || only === "help" || entry.name === only) (await entry.load()).register(command, runner);
  }
  program.action(() => {
    const [word] = program.args;
    if (word === undefined) return program.help();
    const meant = suggest(word, new Set(VERBS.map((entry) => entry.name)));
    throw new HoldfastError("usage", `there is no verb ${JSON.stringify(word)}`, {
      hint: meant && `did you mean "${meant}"? \`holdfast --help\` lists every verb`,
      facts: { verb: word },
    });
  });
  return program.argument("[verb...]");
}

function appOptions({ environment, cwd, terminal }: CliOptions, { profile, config = [], debug = false }: GlobalFlags): AppOptions {
  const log = createLogger({
    clock: systemClock,
    level: debug ? "debug" : "warn",
    sink: (record) => (debug ? terminal.log(record) : terminal.warn(record.message)),
  });
  return { environment, cwd, profile, flags: config, log };
}

/** The first word that is neither a flag nor the value of one. */
function verbOf(args: readonly string[]): string | undefined {
  for (let index = 0; index < args.length; index++) {
    const word = args[index] as string;
    if (!word.startsWith("-")) return word;
    if (FLAGS_WITH_VALUE.includes(word)) index++;
  }
  return undefined;
}

/** "error: unknown option '--jsn'\n(Did you mean --json?)" becomes a sentence and a hint. */
function usageError({ message }: CommanderError): HoldfastError {
  const [sentence = "", suggestion] = message.replace(/^error: /, "").split("\n");
  const meant = /Did you mean (.*)\?/.exec(suggestion ?? "")?.[1];
  return new HoldfastError("usage", sentence.replace(/\.$/, ""), { hint: meant && `did you mean ${meant}?` });
}
