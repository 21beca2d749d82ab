/** @module What the words of a command line stand for, as the parser will read them, but without doing or refusing anything. */
import type { Command, Option } from "commander";

export interface Line {
  /** The verb or subverb that the words lead to; the program itself when there is none. */
  readonly command: Command;
  readonly flags: readonly GivenFlag[];
  readonly unknownFlags: readonly string[];
  /** `-h` or `--help` is among the flags. */
  readonly help: boolean;
  /** Words that are neither flags nor verbs. */
  readonly operands: readonly string[];
  /** The flag at the very end whose value has not come. */
  readonly awaiting: Option | null;
  /** Where the words begin that belong to a command to be run, and are none of our business. */
  readonly passedFrom: number | null;
  /** A `--` has said that no more flags follow. */
  readonly literal: boolean;
}

export interface GivenFlag {
  readonly option: Option;
  /** Null for a flag that takes none, or whose value has not come. */
  readonly value: string | null;
}

export function readLine(program: Command, words: readonly string[]): Line {
  let line: Line = {
    command: program,
    flags: [],
    unknownFlags: [],
    help: false,
    operands: [],
    awaiting: null,
    passedFrom: null,
    literal: false,
  };
  for (let index = 0; index < words.length && line.passedFrom === null; index++) {
    const word = words[index] as string;
    line = line.awaiting ? withValue(line, word) : isFlag(line, word) ? withFlag(line, word) : withOperand(line, word, index);
  }
  return line.passedFrom === null ? line : { ...line, operands: words.slice(line.passedFrom) };
}

/** Whether the flag is there, also where the verb it stands at does not have it. */
export function hasFlag({ flags, unknownFlags }: Line, long: string): boolean {
  return flags.some(({ option }) => option.long === long) || unknownFlags.includes(long);
}

/** The value of a flag that counts when it is given more than once. */
export function lastValue(line: Line, long: string): string | undefined {
  return line.flags.findLast(({ option }) => option.long === long)?.value ?? undefined;
}

/** `["config", "set"]` for the command of `holdfast config set`. */
export function pathOf(command: Command): string[] {
  return command.parent ? [...pathOf(command.parent), command.name()] : [];
}

function withValue(line: Line, value: string): Line {
  const { option } = line.flags.at(-1) as GivenFlag;
  return { ...line, awaiting: null, flags: [...line.flags.slice(0, -1), { option, value }] };
}

function withOperand(line: Line, word: string, index: number): Line {
  const subverb = line.command.commands.find((verb) => verb.name() === word || verb.aliases().includes(word));
  if (subverb && line.operands.length === 0) return { ...line, command: subverb };
  if (passesOn(line.command)) return { ...line, passedFrom: index };
  return { ...line, operands: [...line.operands, word] };
}

function withFlag(line: Line, word: string): Line {
  if (word === "--") return { ...line, literal: true };
  if (word === "-h" || word === "--help") return { ...line, help: true };
  const found = findFlags(line.command, word);
  const last = found.at(-1);
  if (last === undefined) return { ...line, unknownFlags: [...line.unknownFlags, word] };
  return { ...line, flags: [...line.flags, ...found], awaiting: last.option.required && last.value === null ? last.option : null };
}

/** From its first operand on, all words of a verb that runs a command are its own, flags or not. */
export function passesOn(command: Command): boolean {
  const last = command.registeredArguments.at(-1);
  return last?.variadic === true && last.name() === "command";
}

function isFlag({ command, literal }: Line, word: string): boolean {
  if (literal || !word.startsWith("-") || word === "-") return false;
  const isNumber = /^-\.?\d/.test(word) && command.commands.length === 0;
  return !isNumber;
}

/** One flag, or several for a group of short ones (`-fa`). */
function findFlags(command: Command, word: string): GivenFlag[] {
  const find = (name: string) => command.options.find(({ short, long }) => short === name || long === name);
  const exact = find(word);
  if (exact) return [{ option: exact, value: null }];
  if (word.startsWith("--")) {
    const equals = word.indexOf("=");
    const option = equals < 0 ? undefined : find(word.slice(0, equals));
    return option?.required ? [{ option, value: word.slice(equals + 1) }] : [];
  }
  const first = find(word.slice(0, 2));
  if (first === undefined || word.length < 3) return [];
  const rest = word.slice(2);
  return first.required ? [{ option: first, value: rest }] : [{ option: first, value: null }, ...findFlags(command, `-${rest}`)];
}
