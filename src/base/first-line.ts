/** @module What a text says first, or first and last, where there is room for one line, as of an error that carries the end of a log. */

const LONGEST = 300;

/** Says that there is more. */
export function firstLine(text: string): string {
  const [first = "", ...rest] = linesOf(text);
  return rest.length === 0 ? first : `${first.trimEnd()} …`;
}

/** For the error of a worker: how it ended stands in the first line, and why most often in the last one that it printed. */
export function firstAndLastLine(text: string): string {
  const [first = "", ...rest] = linesOf(text).map((line) => cut(line.trim()));
  const last = rest.at(-1);
  return last === undefined ? first : `${first}: ${rest.length > 1 ? "… " : ""}${last}`;
}

function linesOf(text: string): string[] {
  return text.split(/\r\n|\n|\r/).filter((line) => line.trim() !== "");
}

function cut(line: string): string {
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1).toWellFormed()}…` : line;
}
