/** @module The images that a text refers to, as it names them. */

export interface ImageReference {
  /** A URL is for the worker to fetch or not: we never do. */
  readonly kind: "url" | "path";
  readonly text: string;
}

/** More than anybody refers to; each one is looked for on the disk. */
const MOST_REFERENCES = 100;
/** The lengths are bounded, so that no text takes long to go through. Names with one pair of brackets are common: `Screenshot (1).png`. */
const MARKDOWN_IMAGE = /!\[[^\]\n]{0,200}\]\(((?:[^()\n]|\([^()\n]{0,100}\)){1,1000})\)/g;
const TITLE = /\s+(?:"[^"]*"|'[^']*')\s*$/;
const BETWEEN_WORDS = /[\s<>"'`()[\]{}|,;]+/;
const IMAGE_NAME = /[^/.]\.(?:png|jpe?g|gif|webp)$/i;
const URL_START = /^https?:\/\//i;
const OTHER_SCHEME = /^[a-z][a-z0-9+.-]{1,20}:/i;

/** In their order, each once: markdown images, and bare paths and URLs that end like an image. */
export function imageReferences(text: string): ImageReference[] {
  const found = new Map<string, ImageReference>();
  const add = (name: string) => {
    const reference = found.size < MOST_REFERENCES ? referenceOf(name) : null;
    if (reference !== null && !found.has(reference.text)) found.set(reference.text, reference);
  };
  let end = 0;
  for (const match of text.matchAll(MARKDOWN_IMAGE)) {
    bareNames(text.slice(end, match.index)).forEach(add);
    add(targetOf(match[1] ?? ""));
    end = match.index + match[0].length;
  }
  bareNames(text.slice(end)).forEach(add);
  return [...found.values()];
}

function targetOf(inner: string): string {
  const target = inner.trim();
  const bracketed = /^<([^<>]*)>/.exec(target)?.[1];
  return bracketed ?? target.replace(TITLE, "");
}

function bareNames(text: string): string[] {
  return text.split(BETWEEN_WORDS).map((word) => word.replace(/^\*{1,3}|[.:!?*_]{1,10}$/g, ""));
}

function referenceOf(text: string): ImageReference | null {
  if (URL_START.test(text)) return IMAGE_NAME.test(text.replace(/[?#].*$/s, "")) ? { kind: "url", text } : null;
  return IMAGE_NAME.test(text) && !OTHER_SCHEME.test(text) && !text.includes("\0") ? { kind: "path", text } : null;
}
