/** @module Flags that every verb has, wherever they stand on the line. */
import { type Command, Option } from "commander";

export interface GlobalFlags {
  readonly profile?: string;
  /** `key=value`, from the beginning of the line to its end. */
  readonly config?: readonly string[];
  readonly json?: boolean;
  readonly debug?: boolean;
}

export function addGlobalFlags(command: Command): Command {
  return command
    .addOption(new Option("-p, --profile <name>", "use this profile"))
    .addOption(repeatable(new Option("-c, --config <key=value>", "set a configuration key for this call; may be repeated")))
    .addOption(new Option("--debug", "show what happens, and the stack of an error"));
}

export function addJsonFlag(command: Command): Command {
  return command.option("--json", "print the data as JSON");
}

/** Its values are collected instead of replacing each other. */
export function repeatable(option: Option): Option {
  return option.argParser(collect);
}

export function isRepeatable(option: Option): boolean {
  return option.parseArg === (collect as Option["parseArg"]);
}

/** Flags of the verb and of everything before it. Of two of a kind the one nearest to the end of the line counts. */
export function flagsOf(command: Command): GlobalFlags & Record<string, unknown> {
  const chain: Command[] = [];
  for (let current: Command | null = command; current; current = current.parent) chain.unshift(current);
  const config = chain.flatMap((part) => part.opts<GlobalFlags>().config ?? []);
  return { ...Object.assign({}, ...chain.map((part) => part.opts())), config };
}

function collect(text: string, before: string[] | undefined): string[] {
  return [...(before ?? []), text];
}
