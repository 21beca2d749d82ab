/** @module What a verb of the command line is made of. */
import type { Command } from "commander";
import type { App } from "../app/create-app.ts";
import { addGlobalFlags, addJsonFlag, type GlobalFlags } from "./flags.ts";
import type { Terminal } from "./render.ts";

export interface VerbInvocation {
  readonly app: App;
  readonly terminal: Terminal;
  /** The verb's own flags and the global ones. */
  readonly flags: GlobalFlags & Record<string, unknown>;
}

/** Does the work of a verb; a number is the exit status, nothing means 0. */
export type VerbWork = (invocation: VerbInvocation) => Promise<number> | Promise<void>;

export interface VerbRunner {
  /** For the action of a command: makes the app, runs the work, closes the app. */
  run(command: Command, work: VerbWork): Promise<void>;
}

/** A verb adds its arguments, flags, subverbs, examples and actions to its command. */
export type RegisterVerb = (command: Command, tools: { runner: VerbRunner; terminal: Terminal }) => void;

export interface HelpNotes {
  readonly examples: readonly (readonly [command: string, meaning: string])[];
  readonly exit: readonly (readonly [status: string, meaning: string])[];
}

const USUAL_EXIT: HelpNotes["exit"] = [
  ["0", "done"],
  ["1", "Holdfast failed; the message says why"],
  ["2", "the command line was not understood"],
];

/** A subverb with the flags that all of them have; `--json` unless it prints no data. */
export function addSubverb(verb: Command, name: string, summary: string, { json = true } = {}): Command {
  const command = addGlobalFlags(verb.command(name).description(summary));
  return json ? addJsonFlag(command) : command;
}

export function addHelpNotes(command: Command, { examples, exit = USUAL_EXIT }: Partial<HelpNotes> & Pick<HelpNotes, "examples">): Command {
  const width = Math.max(...examples.map(([text]) => text.length));
  const lines = [
    "",
    "Examples:",
    ...examples.map(([text, meaning]) => `  ${text.padEnd(width)}  # ${meaning}`),
    "",
    "Exit status:",
    ...exit.map(([status, meaning]) => `  ${status.padEnd(5)}${meaning}`),
  ];
  return command.addHelpText("after", lines.join("\n"));
}
