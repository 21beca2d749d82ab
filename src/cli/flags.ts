/** @module Flags that every verb has, wherever they stand on the line. */
import { type Command, Option } from "commander";
import { type FlagSetting, parseFlag } from "../config/flags.ts";

export interface GlobalFlags {
  readonly profile?: string;
  readonly config?: readonly FlagSetting[];
  readonly json?: boolean;
  readonly debug?: boolean;
}

export function addGlobalFlags(command: Command): Command {
  return command
    .addOption(new Option("-p, --profile <name>", "use this profile"))
    .addOption(
      new Option("-c, --config <key=value>", "set a configuration key for this call; may be repeated").argParser(
        (text: string, before: FlagSetting[] | undefined) => [...(before ?? []), parseFlag("-c", text)],
      ),
    )
    .addOption(new Option("--debug", "show what happens, and the stack of an error"));
}

export function addJsonFlag(command: Command): Command {
  return command.option("--json", "print the data as JSON");
}

/** Flags of the verb and of everything before it; the one nearest to the end of the line counts. */
export function flagsOf(command: Command): GlobalFlags & Record<string, unknown> {
  const chain: Command[] = [];
  for (let current: Command | null = command; current; current = current.parent) chain.unshift(current);
  return Object.assign({}, ...chain.map((part) => part.opts()));
}
