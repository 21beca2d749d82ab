/** @module The parts of a Markdown page that can be checked: links, headings, code. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export const ROOT = dirname(dirname(import.meta.dirname));

export interface Fence {
  readonly language: string;
  readonly text: string;
}

export interface Page {
  /** Relative to the repository. */
  readonly path: string;
  readonly links: readonly string[];
  /** As a browser addresses them: `what-persists`. */
  readonly anchors: readonly string[];
  readonly headings: readonly string[];
  readonly fences: readonly Fence[];
  /** `code` within lines. */
  readonly spans: readonly string[];
}

const NOT_OURS = /^(node_modules|dist|\.cache)(\/|$)/;
const FENCE = /^```(\w*)\n(.*?)^```$/gms;

export function readPages(root = ROOT): Page[] {
  const paths = globSync("**/*.md", { cwd: root, exclude: (path) => NOT_OURS.test(path) });
  return paths.sort().map((path) => parsePage(path, readFileSync(join(root, path), "utf8")));
}

export function parsePage(path: string, text: string): Page {
  const fences = [...text.matchAll(FENCE)].map(([, language = "", body = ""]) => ({ language, text: body }));
  const prose = text.replace(FENCE, "");
  const headings = [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading);
  return {
    path,
    links: [...prose.replace(/`[^`\n]*`/g, "code").matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target),
    anchors: headings.map(anchorOf),
    headings,
    fences,
    spans: [...prose.matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span),
  };
}

/** The rule of the usual renderers: lower case, punctuation dropped, blanks become dashes. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}
