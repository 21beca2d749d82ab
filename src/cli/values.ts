/** @module Values of flags that several verbs take. */
import { Option } from "commander";
import { HoldfastError } from "../base/errors.ts";
import type { Environment } from "../config/environment.ts";
import type { Command } from "../sandbox/call.ts";
import { repeatable } from "./flags.ts";

export function envOption(): Option {
  return repeatable(
    new Option("-e, --env <name[=value]>", "set a variable for this call only; without a value, take the caller's; may be repeated"),
  );
}

/** What `--env` says: `NAME=value`, or `NAME` for the caller's own. */
export function variables(settings: readonly string[], environment: Environment): Record<string, string> {
  const entries = settings.map((setting): [string, string] => {
    const equals = setting.indexOf("=");
    if (equals >= 0) return [setting.slice(0, equals), setting.slice(equals + 1)];
    const value = environment[setting];
    if (value !== undefined) return [setting, value];
    throw new HoldfastError("usage", `--env ${setting} takes the caller's variable, but there is none of that name`, {
      hint: `write --env ${setting}=VALUE`,
    });
  });
  return Object.fromEntries(entries);
}

/** What a program must know about the caller's terminal. */
export function terminalVariables(environment: Environment): Record<string, string> {
  const names = ["TERM", "COLORTERM", "LANG"];
  return Object.fromEntries(names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
}

/** One word is shell text, several are run as they are. */
export function commandOf(words: readonly string[]): Command {
  const [only, ...others] = words;
  return only !== undefined && others.length === 0 ? only : words;
}

/** A parser for the value of a flag. */
export function numberFor(flag: string, { least = 0, whole = false, example = "10" } = {}): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (text.trim() !== "" && Number.isFinite(number) && number >= least && (!whole || Number.isSafeInteger(number))) return number;
    throw new HoldfastError("usage", `${flag} needs a ${whole ? "whole " : ""}number from ${least} up, not ${JSON.stringify(text)}`, {
      hint: `for example ${flag} ${example}`,
    });
  };
}

/** `1.2 MB` */
export function readableSize(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  const value = bytes / 1000 ** power;
  return `${power > 0 && value < 10 ? value.toFixed(1) : Math.floor(value)} ${units[power]}`;
}
