/** @module The verbs of the command line as a tree of commands. */
import { Command, Help } from "commander";
import { HoldfastError } from "../base/errors.ts";
import { holdfastVersion } from "../base/version.ts";
import { VERBS } from "./commands/index.ts";
import { addGlobalFlags } from "./flags.ts";
import type { Terminal } from "./render.ts";
import { addHelpNotes, type VerbRunner } from "./verb.ts";

export interface ProgramOptions {
  terminal: Terminal;
  runner: VerbRunner;
}

/** The whole program. */
export async function buildProgram({ terminal, runner }: ProgramOptions): Promise<Command> {
  const program = createProgram(terminal);
  for (const { name } of VERBS) await loadVerb(program, name, { terminal, runner });
  return program;
}

/** The verbs by name and summary alone: the rest of each is loaded when it is needed. */
export function createProgram(terminal: Terminal): Command {
  const program = addGlobalFlags(new Command("holdfast"))
    .description("Computers that stay, for AI agents.")
    .usage("[options] <verb> …")
    .version(holdfastVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .commandsGroup("Verbs:")
    .helpCommand("help [verb]", "show help for a verb")
    // Every verb has options: to say so of each would leave too little room for what it does.
    .configureHelp({ subcommandTerm: (verb) => new Help().subcommandTerm(verb).replace(" [options]", "") })
    .enablePositionalOptions()
    .exitOverride()
    // What goes wrong is told in the house's own words.
    .configureOutput({ writeOut: (text) => terminal.line(text.trimEnd()), outputError: () => {} });
  addHelpNotes(program, {
    examples: [
      ["holdfast exec -- 'echo hello > note && pwd'", "run a command in the sandbox that stays"],
      ["holdfast exec -- cat note", "another process, the same sandbox"],
      ["holdfast doctor", "does it work here?"],
    ],
  });
  for (const { name, summary } of VERBS)
    addGlobalFlags(program.command(name).description(summary).helpCommand(false).commandsGroup("Verbs:"));
  return program;
}

export async function loadVerb(program: Command, name: string, { terminal, runner }: ProgramOptions): Promise<void> {
  const entry = VERBS.find((verb) => verb.name === name);
  const command = program.commands.find((verb) => verb.name() === name);
  if (entry === undefined || command === undefined) throw new HoldfastError("internal", `there is no verb ${name} to load`);
  const { register } = await entry.load();
  register(command, { runner, terminal });
}
