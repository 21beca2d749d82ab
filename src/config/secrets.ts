/** @module Secrets in what a profile would take along: found by name, by form, or because the profile's `.env` holds the same value. */
import { HoldfastError } from "../base/errors.ts";
import { holdsPassword } from "../base/without-password.ts";
import { checkConfigText } from "./check-text.ts";
import { looksLikeCredential } from "./child-environment.ts";
import { namesOf } from "./hermes.ts";
import { findKey } from "./schema.ts";
import { parseYamlFile, type Yaml, type YamlFile } from "./yaml-file.ts";
import { removeSection, setInText, unsetInText } from "./yaml-splice.ts";

export interface SecretSearch {
  /** Whether the text holds a secret. */
  inText(text: string): boolean;
  /** Whether what stands under this name is a secret. */
  underName(name: string): boolean;
}

/** Shorter values are found in texts that have nothing to do with them. */
const SHORTEST_KNOWN = 8;
const FORMS = [
  /-----BEGIN [A-Z ]*PRIVATE KEY/,
  /\b(?:sk-|gh[opsu]_|github_pat_|glpat-|xox[abeprs]-|xapp-|AKIA|AIza|hf_|npm_|dop_v1_)[A-Za-z0-9_-]{12,}/,
];
const ASSIGNMENT = /([A-Za-z_][A-Za-z0-9_]*)["']?\s*[=:]\s*\S/g;

/** `dotenv`: the profile's own. */
export function createSecretSearch(dotenv: Readonly<Record<string, string>>): SecretSearch {
  const known = Object.entries(dotenv).filter(([name, value]) => looksLikeCredential(name) && value.length >= SHORTEST_KNOWN);
  return {
    inText: (text) => holdsPassword(text) || FORMS.some((form) => form.test(text)) || known.some(([, value]) => text.includes(value)),
    underName: looksLikeCredential,
  };
}

export interface CleanText {
  readonly text: string;
  /** Keys whose values are secrets, or hold one. */
  readonly leftOut: readonly string[];
  /** Sections and keys that only another program reads: any of them may be a secret. */
  readonly elsewhere: readonly string[];
}

/**
 * The text of a `config.yaml` without the secrets in it, and without what may be one. Everything else stays as it is, but for comments if
 * there may be a secret in one.
 * @throws what is wrong with the text; `config-not-editable`
 */
export async function withoutSecrets(file: string, text: string, search: SecretSearch): Promise<CleanText> {
  const leftOut: string[] = [];
  const elsewhere: string[] = [];
  let clean = text;
  // What only another program understands may be a secret in any form.
  for (const [section, name] of (await checkConfigText(file, text)).elsewhere) {
    const { parsed } = await checkConfigText(file, clean);
    clean = name === undefined ? await removeSection(parsed, section) : await unsetInText(parsed, [section, name]);
    elsewhere.push(name === undefined ? section : `${section}.${name}`);
  }
  for (const [key, value] of (await checkConfigText(file, clean)).settings) {
    const { section, name } = findKey(key);
    const { rest, secrets } = split(value, search);
    if (secrets.length === 0) continue;
    const { parsed } = await checkConfigText(file, clean);
    clean = rest === undefined ? await withoutKey(parsed, key) : await setInText(parsed, [section, name], rest);
    leftOut.push(...secrets.map((entry) => (entry === "" ? key : `${key}.${entry}`)));
  }
  const { parsed } = await checkConfigText(file, clean);
  if (!commentsOf(clean).some((comment) => holdsSecret(comment, search)) && !search.inText(clean))
    return { text: clean, leftOut, elsewhere };
  clean = withoutComments(parsed.yaml, clean);
  await checkConfigText(file, clean);
  if (search.inText(clean))
    throw new HoldfastError("config-not-editable", `there is a secret in ${file} that cannot be taken out of it`, { facts: { file } });
  return { text: clean, leftOut: [...leftOut, "the comments, because one of them may hold a secret"], elsewhere };
}

/** Under whatever name it stands there. */
async function withoutKey(parsed: YamlFile, key: string): Promise<string> {
  let { text } = parsed;
  for (const written of namesOf(key)) {
    const [section = "", name = ""] = written.split(".");
    text = await unsetInText(await parseYamlFile(parsed.file, text), [section, name]);
  }
  return text;
}

/** What may stay of a value, undefined when nothing may, and the names of what may not. The empty name is the value itself. */
function split(value: unknown, search: SecretSearch): { rest?: unknown; secrets: string[] } {
  if (typeof value === "string") return search.inText(value) ? { secrets: [""] } : { rest: value, secrets: [] };
  if (Array.isArray(value)) {
    // Its parts may belong together, as a flag and its value do.
    return value.some((item) => holdsSecret(String(item), search)) ? { secrets: [""] } : { rest: value, secrets: [] };
  }
  if (typeof value !== "object" || value === null) return { rest: value, secrets: [] };
  const entries = Object.entries(value);
  const secrets = entries.filter(([name, item]) => search.underName(name) || search.inText(String(item))).map(([name]) => name);
  const rest = Object.fromEntries(entries.filter(([name]) => !secrets.includes(name)));
  return { ...(Object.keys(rest).length > 0 && { rest }), secrets };
}

function holdsSecret(text: string, search: SecretSearch): boolean {
  return search.inText(text) || [...text.matchAll(ASSIGNMENT)].some(([, name = ""]) => search.underName(name));
}

/** Also what only looks like one. */
function commentsOf(text: string): string[] {
  return text.split("\n").flatMap((line) => /(?:^|\s)#(.*)$/.exec(line)?.[1] ?? []);
}

function withoutComments(yaml: Yaml, text: string): string {
  const document = yaml.parseDocument(text, { stringKeys: true });
  const strip = (node: { comment?: string | null; commentBefore?: string | null }) => {
    node.comment = null;
    node.commentBefore = null;
  };
  strip(document);
  yaml.visit(document, { Node: (_, node) => strip(node) });
  return document.toString();
}
