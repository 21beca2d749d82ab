/** @module Reading `config.yaml`. The parser is loaded only when there is such a file. */
import type { Document, ParsedNode, YAMLError } from "yaml";
import { describeError } from "../base/errors.ts";
import type { OptionKind } from "../base/option.ts";
import type { Findings, Problem } from "./findings.ts";
import { isElsewhere, ownName, VALUE_OF_SECTION, withoutEffect } from "./hermes.ts";
import { lookUpKey, SECTIONS, sectionMeant } from "./schema.ts";
import { describeSource, type Source } from "./source.ts";

export type Yaml = typeof import("yaml");

export interface YamlFile {
  readonly yaml: Yaml;
  readonly file: string;
  readonly text: string;
  readonly document: Document.Parsed;
  /** Everything that keeps it from being YAML; while there is any, the document is not to be trusted. */
  readonly problems: readonly Problem[];
  sourceAt(offset: number): Source;
}

export async function parseYamlFile(file: string, text: string): Promise<YamlFile> {
  const yaml = await import("yaml");
  const lineCounter = new yaml.LineCounter();
  // Pretty errors would quote the lines around the place, and with them secrets.
  const document = yaml.parseDocument(text, { prettyErrors: false, lineCounter, stringKeys: true });
  const sourceAt = (offset: number): Source => ({ kind: "file", file, line: lineCounter.linePos(offset).line });
  const problems = [...document.errors, ...document.warnings].map((error) => syntaxProblem(error, sourceAt(error.pos[0]), text));
  return { yaml, file, text, document, problems, sourceAt };
}

/** Finds every setting and every problem of the file. */
export function readYamlFile(yamlFile: YamlFile, findings: Findings): void {
  if (yamlFile.problems.length > 0) {
    for (const problem of yamlFile.problems) findings.addProblem(problem);
    return;
  }
  const sections = entriesOf(yamlFile, { node: yamlFile.document.contents, what: "the file" }, findings);
  const ours = (name: string) => Object.hasOwn(SECTIONS, name);
  for (const section of sections.filter(({ name }) => ours(name))) readSection(yamlFile, section, findings);
  // Other programs keep their settings in such a file too, but whoever has misspelt one of ours wants to hear of it.
  const others = sections.filter(({ name }) => !ours(name));
  const [misspelt, foreign] = [others.filter(meansOurs), others.filter((section) => !meansOurs(section))];
  for (const { name, source } of misspelt) findings.addUnknownKey(name, source);
  for (const { name } of foreign) findings.addElsewhere(name);
  if (foreign.length > 0) findings.addWarning(describeElsewhere(yamlFile.file, foreign));
}

function meansOurs({ name }: Entry): boolean {
  return !isElsewhere(name) && sectionMeant(name) !== undefined;
}

const MOST_NAMED = 20;

function describeElsewhere(file: string, sections: readonly Entry[]): string {
  const names = sections.slice(0, MOST_NAMED).map(({ name }) => name.slice(0, 40));
  const more = sections.length > MOST_NAMED ? ` and ${sections.length - MOST_NAMED} more` : "";
  const what = sections.length === 1 ? "is no section of Holdfast, and has" : "are no sections of Holdfast, and have";
  return `${names.join(", ")}${more} in ${file} ${what} no effect`;
}

function readSection(yamlFile: YamlFile, section: Entry, findings: Findings): void {
  const entries = entriesIn(yamlFile, section, findings).map((entry) => {
    const written = `${section.name}.${entry.name}`;
    return { entry, written, key: lookUpKey(ownName(written)) };
  });
  const isOther = ({ written, key }: (typeof entries)[number]) => Number(key !== undefined && key.key !== written);
  // Of two names for one key, its own counts.
  for (const { entry, written, key } of entries.toSorted((a, b) => isOther(a) - isOther(b))) {
    const instead = withoutEffect(written);
    if (key === undefined && instead === undefined) findings.addUnknownKey(written, entry.source);
    else if (instead !== undefined) {
      findings.addElsewhere(section.name, entry.name);
      if (!isNothing(yamlFile, entry.node)) findings.addWithoutEffect(written, instead, entry.source);
    } else if (key !== undefined && !isNothing(yamlFile, entry.node, { emptyText: false })) {
      const add: EntryReader["add"] = (input, raw) => findings.add(key, input, { source: entry.source, raw });
      readEntry(yamlFile, { entry, add, kind: key.kind }, findings);
    }
  }
}

function entriesIn(yamlFile: YamlFile, { name, node, source }: Entry, findings: Findings): Entry[] {
  const { yaml } = yamlFile;
  const value = Object.hasOwn(VALUE_OF_SECTION, name) ? VALUE_OF_SECTION[name] : undefined;
  if (value !== undefined && yaml.isScalar(node) && node.value !== null) return [{ name: value, node, source }];
  return entriesOf(yamlFile, { node, what: name }, findings);
}

/** A key without a value is not set. */
function isNothing({ yaml, document }: YamlFile, node: unknown, { emptyText = true } = {}): boolean {
  const found = yaml.isAlias(node) ? node.resolve(document) : node;
  if (yaml.isAlias(node) && found === undefined) return false;
  return found === null || found === undefined || (yaml.isScalar(found) && (found.value === null || (emptyText && found.value === "")));
}

interface Entry {
  readonly name: string;
  readonly node: unknown;
  readonly source: Source;
}

export function entriesOf({ yaml, document, sourceAt }: YamlFile, part: { node: unknown; what: string }, findings: Findings): Entry[] {
  const node = yaml.isAlias(part.node) ? part.node.resolve(document) : part.node;
  if (yaml.isAlias(part.node) && node === undefined) {
    const source = sourceAt(part.node.range?.[0] ?? 0);
    const message = `${part.what} cannot be resolved: there is no anchor for its alias (${describeSource(source)})`;
    findings.addProblem({ code: "config-syntax", message, source });
    return [];
  }
  if (node === null || node === undefined || (yaml.isScalar(node) && node.value === null)) return [];
  if (yaml.isMap<ParsedNode, ParsedNode | null>(node)) {
    return node.items.map(({ key, value }) => ({
      name: yaml.isScalar(key) ? String(key.value) : String(key),
      node: value,
      source: sourceAt(key.range[0]),
    }));
  }
  const source = sourceAt(yaml.isNode(node) ? (node.range?.[0] ?? 0) : 0);
  findings.addProblem({
    code: "config-bad-value",
    message: `${part.what} must be a map of keys to values, not ${yaml.isSeq(node) ? "a list" : "a single value"} (${describeSource(source)})`,
    source,
  });
  return [];
}

interface EntryReader {
  readonly entry: Entry;
  readonly kind: OptionKind;
  readonly add: (input: unknown, raw: string) => void;
}

function readEntry(yamlFile: YamlFile, { entry, kind, add }: EntryReader, findings: Findings): void {
  const { yaml, text } = yamlFile;
  const range = yaml.isNode(entry.node) ? entry.node.range : undefined;
  const raw = range ? text.slice(range[0], range[1]) : "";
  try {
    add(plainValue(yamlFile, entry.node, kind), raw);
  } catch (error) {
    // ReferenceError: an alias without its anchor, or so many that they would fill the memory.
    const message = `${entry.name} cannot be resolved: ${describeError(error)} (${describeSource(entry.source)})`;
    findings.addProblem({ code: "config-syntax", message, source: entry.source });
  }
}

function plainValue(yamlFile: YamlFile, node: unknown, kind: OptionKind): unknown {
  const { yaml, document } = yamlFile;
  if (yaml.isAlias(node)) return plainValue(yamlFile, node.resolve(document) ?? node.toJS(document), kind);
  if (yaml.isScalar(node)) {
    const wantsText = kind === "string" || kind === "optional string" || kind === "enum";
    // The text as written: 0123 and 1.10 would come back from a number as 123 and 1.1.
    return wantsText && node.value !== null && typeof node.value !== "string" ? (node.source ?? String(node.value)) : node.value;
  }
  if (yaml.isMap(node) && kind === "map") {
    return Object.fromEntries(node.items.map(({ key, value }) => [String(key), plainValue(yamlFile, value, "string")]));
  }
  return yaml.isNode(node) ? node.toJS(document) : node;
}

function syntaxProblem(error: YAMLError, source: Source, text: string): Problem {
  return { code: "config-syntax", message: `${explain(error, text)} (${describeSource(source)})`, hint: HINTS[error.code], source };
}

const HINTS: Partial<Record<YAMLError["code"], string>> = {
  TAB_AS_INDENT: "YAML is indented with spaces: replace the tab",
  DUPLICATE_KEY: "remove one of the two",
  MULTIPLE_DOCS: "remove the `---` line and what is above or below it",
};

function explain(error: YAMLError, text: string): string {
  switch (error.code) {
    case "TAB_AS_INDENT":
      return "a tab is used as indentation";
    case "DUPLICATE_KEY":
      return `the key ${JSON.stringify(/^[^\s:]{0,60}/.exec(text.slice(error.pos[0]))?.[0] ?? "")} is there twice`;
    case "MULTIPLE_DOCS":
      return "the file holds more than one YAML document";
    case "NON_STRING_KEY":
      return "a list or map stands in the place of a key";
    case "KEY_OVER_1024_CHARS":
      return "a key is longer than 1024 characters";
    default:
      // Behind a word and a colon the parser quotes the text itself, which may be a secret.
      return `this is not YAML: ${error.message.split(/(?<=\w):/, 1)[0]}`;
  }
}
