/** @module What could stand where the cursor is: the answer to a completion script. */
import type { Command } from "commander";
import { isRepeatable } from "../flags.ts";
import { type Line, passesOn, pathOf, readLine } from "../line.ts";
import { type Candidate, candidatesFor, type ValueContext } from "./values.ts";

export type Completion =
  /** Any of these words; the shell picks those that fit what is typed. */
  | { readonly kind: "words"; readonly candidates: readonly Candidate[] }
  /** Directories, which the shell knows best. */
  | { readonly kind: "directories" }
  /** Directories and files. */
  | { readonly kind: "files" }
  /** After this many words, the program's name included, a command of its own begins: the shell knows how to complete that. */
  | { readonly kind: "command"; readonly skip: number };

export interface CompleteOptions extends Pick<ValueContext, "app"> {
  readonly program: Command;
  /** Makes the flags and verbs of a verb known. */
  load(verb: string): Promise<void>;
}

/** `words` are those after the program's name, up to the cursor; the last one is the one being typed, perhaps empty. */
export async function complete(words: readonly string[], { program, load, app }: CompleteOptions): Promise<Completion> {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? "";
  const [verb] = pathOf(readLine(program, before).command);
  if (verb !== undefined) await load(verb);
  const line = readLine(program, before);
  const values = (name: string, text: string, prefix = "") => completeValue({ name, prefix }, { line, current: text, app });

  if (line.passedFrom !== null) return { kind: "command", skip: line.passedFrom + 1 };
  if (line.awaiting) return values(line.awaiting.name(), current);
  if (!line.literal && current.startsWith("-")) {
    const [, flag, text] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
    const option = line.command.options.find((candidate) => candidate.long === flag);
    return option?.required ? values(option.name(), text ?? "", `${flag}=`) : { kind: "words", candidates: flagsOf(line) };
  }
  if (line.command.commands.length > 0) return { kind: "words", candidates: line.operands.length === 0 ? verbsOf(line) : [] };
  const { registeredArguments: known } = line.command;
  const argument = known[line.operands.length] ?? (known.at(-1)?.variadic ? known.at(-1) : undefined);
  if (passesOn(line.command)) return { kind: "command", skip: before.length + 1 };
  if (argument?.argChoices) return { kind: "words", candidates: argument.argChoices.map((value) => ({ value, description: "" })) };
  return argument ? values(argument.name(), current) : { kind: "words", candidates: [] };
}

const NOTHING: Completion = { kind: "words", candidates: [] };

async function completeValue({ name, prefix }: { name: string; prefix: string }, context: ValueContext): Promise<Completion> {
  if (name === "cwd") return { kind: "directories" };
  if (name === "archive" || name === "output") return { kind: "files" };
  // What is in a sandbox would have to be asked for there.
  if (name === "source" || name === "target") return context.current.includes(":") ? NOTHING : { kind: "files" };
  const candidates = await candidatesFor(name, context);
  return { kind: "words", candidates: candidates.map(({ value, description }) => ({ value: prefix + value, description })) };
}

function verbsOf({ command }: Line): Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((verb) => ({ value: verb.name(), description: verb.description() }));
}

/** The long forms of those that may still be given. */
function flagsOf({ command, flags }: Line): Candidate[] {
  const given = new Set(flags.map(({ option }) => option.long));
  return command
    .createHelp()
    .visibleOptions(command)
    .filter((option) => option.long && (!given.has(option.long) || isRepeatable(option)))
    .map((option) => ({ value: option.long ?? "", description: option.description }));
}
