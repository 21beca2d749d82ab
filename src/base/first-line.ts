/** @module The beginning of a text where there is room for one line, as of an error that carries the end of a log. */

/** Says that there is more. */
export function firstLine(text: string): string {
  const [first = "", ...rest] = text.split(/\r\n|\n|\r/).filter((line) => line.trim() !== "");
  return rest.length === 0 ? first : `${first.trimEnd()} …`;
}
