/** @module Turning an argument list into shell text. */

const PLAIN_WORD = /^[A-Za-z0-9_@%+:,./-]+$/;

/** A shell word that means exactly `text`. */
export function quoteWord(text: string): string {
  return PLAIN_WORD.test(text) ? text : alwaysQuoted(text);
}

/** Shell text that runs `argv` as it is. The first word is quoted in any case: an alias or a keyword of that name must not get in. */
export function quoteArgv([program = "", ...args]: readonly string[]): string {
  return [alwaysQuoted(program), ...args.map(quoteWord)].join(" ");
}

function alwaysQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
