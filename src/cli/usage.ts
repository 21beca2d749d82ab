/** @module Command lines that cannot be understood, told in one sentence and a hint. */
import type { Command, CommanderError } from "commander";
import { HoldfastError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { pathOf } from "./line.ts";

/** A word stands where a verb of `command` was expected. */
export function unknownVerb(command: Command, word: string): HoldfastError {
  const names = command.commands.flatMap((verb) => [verb.name(), ...verb.aliases()]);
  const meant = suggest(word, names);
  const list = `\`${nameOf(command)} --help\` lists every verb`;
  return new HoldfastError("usage", `${nameOf(command)} has no verb ${JSON.stringify(word)}`, {
    hint: meant === undefined ? list : `did you mean "${meant}"? ${list}`,
    facts: { verb: word },
  });
}

/** An argument that must be one of a few words. */
export function unknownChoice(what: string, word: string, choices: readonly string[]): HoldfastError {
  const meant = suggest(word, choices);
  return new HoldfastError("usage", `${what} must be one of ${choices.join(", ")}, not ${JSON.stringify(word)}`, {
    hint: meant && `did you mean "${meant}"?`,
  });
}

/** What refuses a value does not know whether it comes from a command line; there it is a mistake in writing, like any other. */
export function asUsage({ message, hint, facts }: HoldfastError, words = message): HoldfastError {
  return new HoldfastError("usage", words, { hint, facts });
}

/** What the parser has to say, without its decoration: "error: unknown option '--jsn'\n(Did you mean --json?)". */
export function usageError({ code, message }: CommanderError, command: Command): HoldfastError {
  const [sentence = "", suggestion] = message.replace(/^error: /, "").split("\n");
  const meant = /Did you mean (.*)\?/.exec(suggestion ?? "")?.[1];
  const usage = `usage: ${command.createHelp().commandUsage(command)}`;
  return new HoldfastError("usage", code === "commander.excessArguments" ? excess(command) : sentence.replace(/\.$/, ""), {
    hint: misplaced(sentence, command) ?? (meant ? `did you mean ${meant}?` : usage),
  });
}

/** The parser's own words would be two sentences. */
function excess(command: Command): string {
  const surplus = command.args.slice(command.registeredArguments.length).map((word) => JSON.stringify(word));
  return `${surplus.join(", ")} ${surplus.length === 1 ? "is" : "are"} too much for ${nameOf(command)}`;
}

/** Where a flag belongs that stands before its verb. */
function misplaced(sentence: string, command: Command): string | undefined {
  const flag = /^unknown option '(.*)'$/.exec(sentence)?.[1];
  const known = flag !== undefined && command.options.some(({ short, long }) => short === flag || long === flag);
  return known ? `it belongs behind the verb: ${nameOf(command)} ${flag}` : undefined;
}

function nameOf(command: Command): string {
  return ["holdfast", ...pathOf(command)].join(" ");
}
