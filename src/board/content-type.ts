/** @module The content type of a file, by the ending of its name. */
import { extname } from "node:path";

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css",
  csv: "text/csv",
  diff: "text/x-diff",
  gif: "image/gif",
  gz: "application/gzip",
  htm: "text/html",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  json: "application/json",
  jsonl: "application/jsonl",
  log: "text/plain",
  md: "text/markdown",
  mp3: "audio/mpeg",
  mp4: "video/mp4",
  patch: "text/x-diff",
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  tar: "application/x-tar",
  txt: "text/plain",
  wav: "audio/wav",
  webp: "image/webp",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  zip: "application/zip",
};

export function contentTypeOf(name: string): string {
  const ending = extname(name).slice(1).toLowerCase();
  return (Object.hasOwn(TYPES, ending) && TYPES[ending]) || "application/octet-stream";
}
