/**
 * @module Changing one key in the text of `config.yaml`. The parser only tells where things are: every byte that does not belong to the
 * key stays as it is, which printing the parsed document again would not give.
 */
import { isDeepStrictEqual } from "node:util";
import type { Pair, ParsedNode, YAMLMap } from "yaml";
import { HoldfastError } from "../base/errors.ts";
import { parseYamlFile, type YamlFile } from "./yaml-file.ts";
import { renderYaml } from "./yaml-render.ts";

export type KeyPath = readonly [section: string, name: string];

type ParsedMap = YAMLMap.Parsed<ParsedNode, ParsedNode | null>;
type ParsedPair = Pair<ParsedNode, ParsedNode | null>;

interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The text with the key set to `value`, which is plain data. @throws `config-not-editable` */
export async function setInText(file: YamlFile, path: KeyPath, value: unknown): Promise<string> {
  const changed = apply(file.text, setSplices(file, path, renderYaml(file.yaml, value)));
  return proved(file, changed, { path, change: (section) => ({ ...section, [path[1]]: value }) });
}

/** The text without the key; the same text when it is not there. @throws `config-not-editable` */
export async function unsetInText(file: YamlFile, path: KeyPath): Promise<string> {
  const section = mapOf(file, pairOf(mapOf(file, file.document.contents), path[0])?.value);
  const pair = pairOf(section, path[1]);
  if (section === undefined || pair === undefined) return file.text;
  const changed = apply(file.text, [section.flow ? flowRemoval(file.text, section, pair) : blockRemoval(file.text, pair)]);
  return proved(file, changed, { path, change: ({ [path[1]]: _removed, ...others }) => others });
}

/** The text without a whole section. @throws `config-not-editable` */
export async function removeSection(file: YamlFile, name: string): Promise<string> {
  const root = mapOf(file, file.document.contents);
  const pair = pairOf(root, name);
  if (root === undefined || pair === undefined) return file.text;
  const changed = apply(file.text, [root.flow ? flowRemoval(file.text, root, pair) : blockRemoval(file.text, pair)]);
  const after = await parseYamlFile(file.file, changed);
  let cause: unknown;
  try {
    const { [name]: _removed, ...others } = plain(file);
    if (after.problems.length === 0 && isDeepStrictEqual(plain(after), others)) return changed;
  } catch (error) {
    // ReferenceError: another section has an alias for what is anchored here.
    cause = error;
  }
  throw notEditable(file, name, cause);
}

function setSplices(file: YamlFile, [sectionName, name]: KeyPath, rendered: string): Splice[] {
  const { text } = file;
  const entry = `${name}: ${rendered}`;
  const root = mapOf(file, file.document.contents);
  const sectionPair = pairOf(root, sectionName);
  const section = mapOf(file, sectionPair?.value);
  const pair = pairOf(section, name);

  if (pair !== undefined) return replaceValue(file, pair, rendered);
  if (section !== undefined) return [section.flow ? flowInsertion(section, entry) : blockInsertion(text, section, [entry])];
  if (sectionPair !== undefined)
    return root?.flow ? replaceValue(file, sectionPair, `{ ${entry} }`) : fillSection(text, sectionPair, entry);
  if (root !== undefined) {
    return [
      root.flow ? flowInsertion(root, `${sectionName}: { ${entry} }`) : blockInsertion(text, root, [`${sectionName}:`, `  ${entry}`]),
    ];
  }
  return [insertLines(text, text.length, [`${sectionName}:`, `  ${entry}`])];
}

function replaceValue({ yaml, text }: YamlFile, pair: ParsedPair, rendered: string): Splice[] {
  const { value } = pair;
  const afterColon = text.indexOf(":", pair.key.range[1]) + 1;
  if (value === null || value.range[0] === value.range[1]) return [{ start: afterColon, end: afterColon, text: ` ${rendered}` }];
  const [start, end] = value.range;
  if (yaml.isCollection(value) && !value.flow) {
    // A comment behind the key stays there.
    return [
      { start: afterColon, end: afterColon, text: ` ${rendered}` },
      { start: lineStart(text, start), end, text: "" },
    ];
  }
  // A block scalar ends behind its line break, which still has to separate it from what follows.
  const lineBreak = /\r?\n$/.exec(text.slice(start, end))?.[0] ?? "";
  return [{ start, end, text: rendered + lineBreak }];
}

/** Puts the first entry below a section that has none: `terminal:` or `terminal: null`. */
function fillSection(text: string, pair: ParsedPair, entry: string): Splice[] {
  const [start, end] = pair.value?.range ?? [pair.key.range[1], pair.key.range[1]];
  const written = start === end ? [] : [{ start: text[start - 1] === " " ? start - 1 : start, end, text: "" }];
  return [...written, insertLines(text, nextLine(text, end), [`${indentAt(text, pair.key.range[0])}  ${entry}`])];
}

function blockInsertion(text: string, map: ParsedMap, lines: readonly string[]): Splice {
  const last = map.items.at(-1) as ParsedPair;
  const indent = indentAt(text, last.key.range[0]);
  let offset = nextLine(text, endOf(last));
  // Deeper comments directly below belong to the last entry.
  for (let comment = commentAt(text, offset); comment.indent > indent.length; comment = commentAt(text, offset)) offset = comment.end;
  return insertLines(
    text,
    offset,
    lines.map((line) => indent + line),
  );
}

function flowInsertion(map: ParsedMap, entry: string): Splice {
  const last = map.items.at(-1);
  if (last === undefined) return { start: map.range[0] + 1, end: map.range[0] + 1, text: ` ${entry} ` };
  return { start: endOf(last), end: endOf(last), text: `, ${entry}` };
}

function blockRemoval(text: string, pair: ParsedPair): Splice {
  return { start: lineStart(text, pair.key.range[0]), end: nextLine(text, endOf(pair)), text: "" };
}

/** Takes one comma along, the one behind the entry if there is any. */
function flowRemoval(text: string, map: ParsedMap, pair: ParsedPair): Splice {
  const start = pair.key.range[0];
  const end = endOf(pair);
  const following = /^\s*,[ \t]*/.exec(text.slice(end, map.range[1]))?.[0];
  if (following !== undefined) return { start, end: end + following.length, text: "" };
  const preceding = /,\s*$/.exec(text.slice(map.range[0], start))?.[0] ?? "";
  return { start: start - preceding.length, end, text: "" };
}

function insertLines(text: string, offset: number, lines: readonly string[]): Splice {
  const lineBreak = text.includes("\r\n") ? "\r\n" : "\n";
  const missing = offset > 0 && text[offset - 1] !== "\n" && text !== "\uFEFF" ? lineBreak : "";
  return { start: offset, end: offset, text: missing + lines.map((line) => line + lineBreak).join("") };
}

function apply(text: string, splices: readonly Splice[]): string {
  const lastFirst = splices.toSorted((a, b) => b.start - a.start);
  return lastFirst.reduce((changed, { start, end, text: inserted }) => changed.slice(0, start) + inserted + changed.slice(end), text);
}

type Plain = Readonly<Record<string, unknown>>;

/**
 * Parses the result and compares: the one key must have changed and nothing else. Anchors, tags and explicit keys can make a change
 * of one place change another; then the file is left alone.
 */
async function proved(
  file: YamlFile,
  changed: string,
  { path, change }: { path: KeyPath; change: (section: Plain) => Plain },
): Promise<string> {
  const [section, name] = path;
  const after = await parseYamlFile(file.file, changed);
  let cause: unknown;
  try {
    const before = plain(file);
    const expected = { ...before, [section]: change((before[section] ?? {}) as Plain) };
    // A section without entries is null to the parser.
    const filled = (found: Plain) => ({ ...found, [section]: found[section] ?? {} });
    if (after.problems.length === 0 && isDeepStrictEqual(filled(plain(after)), expected)) return changed;
  } catch (error) {
    // ReferenceError: an alias without its anchor, or too many aliases.
    cause = error;
  }
  throw notEditable(file, `${section}.${name}`, cause);
}

function notEditable({ file }: YamlFile, key: string, cause?: unknown): HoldfastError {
  return new HoldfastError("config-not-editable", `cannot change ${key} in ${file} without changing something else in it`, {
    facts: { file, key },
    cause,
  });
}

function plain({ document }: YamlFile): Plain {
  return (document.toJS() ?? {}) as Plain;
}

function mapOf({ yaml }: YamlFile, node: unknown): ParsedMap | undefined {
  return yaml.isMap(node) ? (node as ParsedMap) : undefined;
}

function pairOf(map: ParsedMap | undefined, name: string): ParsedPair | undefined {
  return map?.items.find(({ key }) => "value" in key && key.value === name);
}

function endOf(pair: ParsedPair): number {
  return pair.value?.range[1] ?? pair.key.range[1];
}

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

/** Where the line after the one that ends at or behind `offset` begins. */
function nextLine(text: string, offset: number): number {
  if (offset > 0 && text[offset - 1] === "\n") return offset;
  const lineBreak = text.indexOf("\n", offset);
  return lineBreak < 0 ? text.length : lineBreak + 1;
}

function indentAt(text: string, offset: number): string {
  return /^\uFEFF?( *)/.exec(text.slice(lineStart(text, offset)))?.[1] ?? "";
}

/** The comment line that begins at `offset`; its indent is -1 when there is none. */
function commentAt(text: string, offset: number): { indent: number; end: number } {
  const indent = /^[ \t]*(?=#)/.exec(text.slice(offset, nextLine(text, offset + 1)))?.[0].length ?? -1;
  return { indent, end: nextLine(text, offset + 1) };
}
