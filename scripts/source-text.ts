/** @module Reads TypeScript just closely enough to find imports and uses of globals without being fooled by comments and strings. */

export interface Import {
  readonly specifier: string;
  /** Where the specifier begins in the text. */
  readonly start: number;
  readonly line: number;
  /** Erased before the program runs. */
  readonly typeOnly: boolean;
}

const IMPORT = /\b(?:import|export)\b(?<type>\s+type\b)?[^;"'()]*?\bfrom\s*["']|\bimport\s*["']|\bimport\s*\(\s*["']/g;

export function findImports(source: string): Import[] {
  return [...maskText(source).matchAll(IMPORT)].map((match) => {
    const start = match.index + match[0].length;
    const quote = source[start - 1] ?? "";
    return {
      specifier: source.slice(start, source.indexOf(quote, start)),
      start,
      line: lineAt(source, start),
      typeOnly: match.groups?.type !== undefined,
    };
  });
}

export function lineAt(source: string, index: number): number {
  return source.slice(0, index).split("\n").length;
}

const COMMENT = /\/\/.*|\/\*[\s\S]*?\*\//y;
const STRING = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/y;
// From a backtick, or from the brace that ends a substitution, up to the next backtick or substitution.
const TEMPLATE_PART = /[`}](?:\\[\s\S]|[^`\\$]|\$(?!\{))*(?:`|\$\{)/y;
const REGEX = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\//y;
// A slash after a value divides; anywhere else it begins a regular expression.
const REGEX_MAY_START = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|await|of|in|void|yield))\s*$/;

/** The same text with blanks for what is not code: comments, and the content of strings, templates and regular expressions. */
export function maskText(source: string): string {
  // One entry per template that is being read: how many braces are open inside its current substitution.
  const open: number[] = [];
  let masked = "";
  while (masked.length < source.length) masked += nextPart(source, masked, open);
  return masked;
}

function nextPart(source: string, before: string, open: number[]): string {
  const at = before.length;
  const char = source[at] ?? "";
  const hidden = matchAt(COMMENT, source, at) ?? (char === "/" && REGEX_MAY_START.test(before) ? matchAt(REGEX, source, at) : undefined);
  if (hidden !== undefined) return blank(hidden);
  const text = matchAt(STRING, source, at);
  if (text !== undefined) return char + blank(text.slice(1, -1)) + char;

  const endsSubstitution = char === "}" && open.at(-1) === 0;
  const part = char === "`" || endsSubstitution ? matchAt(TEMPLATE_PART, source, at) : undefined;
  if (endsSubstitution) open.pop();
  if (part === undefined) {
    const braces = { "{": 1, "}": -1 }[char] ?? 0;
    if (open.length > 0 && !endsSubstitution) open.push((open.pop() ?? 0) + braces);
    return char;
  }
  const end = part.endsWith("${") ? "${" : "`";
  if (end === "${") open.push(0);
  return char + blank(part.slice(1, -end.length)) + end;
}

function matchAt(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}

function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, " ");
}
