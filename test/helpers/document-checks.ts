/** @module What can be wrong with a document: it names something that is not there. */
import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { ERROR_KINDS } from "../../src/base/errors.ts";
import { OTHER_VARIABLES } from "../../src/config/hermes.ts";
import { CONFIG_KEYS } from "../../src/config/schema.ts";
import { type Page, ROOT } from "./markdown.ts";

/** Links to files, or to headings in them, that are not there. */
export function brokenLinks({ path, links, anchors }: Page, pages: readonly Page[]): string[] {
  return links
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [file = "", anchor] = link.split("#");
      const target = normalize(join(dirname(path), file));
      if (file !== "" && !existsSync(join(ROOT, target))) return true;
      const there = file === "" ? anchors : pages.find((page) => page.path === target)?.anchors;
      return anchor !== undefined && !there?.includes(anchor);
    })
    .map((link) => `${path}: ${link}`);
}

/** Paths from the root of the repository. A segment in capitals stands for a name that the reader chooses. */
export function missingPaths({ path, spans }: Page): string[] {
  return spans
    .filter((span) => /^(\.\/(check|holdfast|\w+)|(\.ci|bench|docs|examples|scripts|src|test)\/[\w./-]*)$/.test(span))
    .filter((span) => !/(^|\/)[A-Z]+(\/|\.|$)/.test(span) && !existsSync(join(ROOT, span)))
    .map((span) => `${path}: ${span}`);
}

/** Keys and variables of the configuration. */
export function unknownKeys(page: Page): string[] {
  const known = new Set([...CONFIG_KEYS.flatMap(({ key, variable }) => [key, variable]), ...Object.keys(OTHER_VARIABLES)]);
  return wordsOf(page, /(?<![./\w])(?:terminal|kanban)\.[a-z][a-z_]*[a-z](?!\w|…|\()|\bTERMINAL_[A-Z_]*[A-Z]\b(?!…)/g)
    .filter((word) => !known.has(word.text))
    .map(describeWord);
}

/** Words like those in the table of codes: `sandbox-…`, `config-…`. */
export function unknownCodes(page: Page): string[] {
  const families = new Set(
    Object.keys(ERROR_KINDS)
      .filter((code) => code.includes("-"))
      .map((code) => code.split("-")[0]),
  );
  return page.spans
    .filter((span) => /^[a-z]+(-[a-z]+)+$/.test(span) && families.has(span.split("-")[0]) && !Object.hasOwn(ERROR_KINDS, span))
    .map((span) => `${page.path}: ${span}`);
}

interface Word {
  readonly path: string;
  readonly text: string;
}

function wordsOf({ path, spans, fences }: Page, pattern: RegExp): Word[] {
  const code = [...spans, ...fences.map(({ text }) => text)].join("\n");
  return [...code.matchAll(pattern)].map(([text]) => ({ path, text }));
}

function describeWord({ path, text }: Word): string {
  return `${path}: ${text}`;
}
