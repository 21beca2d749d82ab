/** @module Parser of `.env` files. Its messages never hold anything of a line but its number: lines are secrets. */

export interface DotenvEntry {
  readonly name: string;
  readonly value: string;
  readonly line: number;
}

export interface DotenvProblem {
  readonly line: number;
  readonly message: string;
}

export interface Dotenv {
  /** In the order of the file; of two with the same name the later one counts. */
  readonly entries: readonly DotenvEntry[];
  readonly problems: readonly DotenvProblem[];
}

/**
 * Reads `NAME=value` lines: `export` before the name is allowed; `'…'` is literal; `"…"` knows `\n \t \" \\ \$` and may span lines;
 * other values are trimmed and end at a ` #`. Nothing is expanded.
 */
export function parseDotenv(text: string): Dotenv {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const entries: DotenvEntry[] = [];
  const problems: DotenvProblem[] = [];
  for (let index = 0; index < lines.length; ) {
    const assignment = parseAssignment(lines, index);
    const line = index + 1;
    if ("message" in assignment) problems.push({ line, message: assignment.message });
    else if (assignment.name !== null) entries.push({ name: assignment.name, value: assignment.value, line });
    index += assignment.lines;
  }
  return { entries, problems };
}

/** What begins at a line, and how many lines it takes. */
type Assignment =
  | { readonly lines: number; readonly name: string; readonly value: string }
  | { readonly lines: number; readonly name: null }
  | { readonly lines: number; readonly message: string };

function parseAssignment(lines: readonly string[], index: number): Assignment {
  const line = lines[index] ?? "";
  if (/^\s*(#|$)/.test(line)) return { lines: 1, name: null };
  const equals = line.indexOf("=");
  if (equals < 0) return { lines: 1, message: "the line has no `=`" };
  const name = line
    .slice(0, equals)
    .trim()
    .replace(/^export\s+/, "");
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return { lines: 1, message: "what stands before the `=` is not a variable name (letters, digits and `_`)" };
  }
  const value = parseValue(line.slice(equals + 1), lines, index + 1);
  if ("message" in value) return value;
  return value.value.includes("\0") ? { lines: value.lines, message: "the value holds a NUL byte" } : { ...value, name };
}

type Value = { readonly lines: number; readonly value: string } | { readonly lines: number; readonly message: string };

function parseValue(text: string, lines: readonly string[], next: number): Value {
  const trimmed = text.trimStart();
  if (trimmed.startsWith("'")) return parseSingleQuoted(trimmed.slice(1));
  if (trimmed.startsWith('"')) return parseDoubleQuoted(trimmed.slice(1), lines, next);
  return { lines: 1, value: text.replace(/\s#.*$/, "").trim() };
}

function parseSingleQuoted(text: string): Value {
  const end = text.indexOf("'");
  if (end < 0) return { lines: 1, message: "the closing ' is missing" };
  return finish(text.slice(0, end), { after: text.slice(end + 1), lines: 1 });
}

/** `text` is what follows the opening quote, `next` the line after it. */
function parseDoubleQuoted(text: string, lines: readonly string[], next: number): Value {
  let value = "";
  let line = text;
  for (let used = 1; ; used++) {
    const end = closingQuote(line);
    if (end >= 0) return finish(value + resolveEscapes(line.slice(0, end)), { after: line.slice(end + 1), lines: used });
    const following = lines[next + used - 1];
    // Where it was meant to end is unknown, so nothing after it can be judged: all lines are used up.
    if (following === undefined) return { lines: used, message: 'the closing " is missing' };
    value += `${resolveEscapes(line)}\n`;
    line = following;
  }
}

function closingQuote(line: string): number {
  for (let index = 0; index < line.length; index++) {
    if (line[index] === "\\") index++;
    else if (line[index] === '"') return index;
  }
  return -1;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", '"': '"', "\\": "\\", $: "$" };

function resolveEscapes(text: string): string {
  return text.replace(/\\([nt"\\$])/g, (_, character: string) => ESCAPES[character] ?? "");
}

/** Only blanks or a comment may follow a closing quote: anything else means that the quoting is not what it seems. */
function finish(value: string, { after, lines }: { after: string; lines: number }): Value {
  if (/^\s*$|^\s+#/.test(after)) return { lines, value };
  return { lines, message: "text follows the closing quote" };
}
