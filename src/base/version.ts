/** @module The version of Holdfast. */
import { readFileSync } from "node:fs";

// Put in by scripts/build.ts; not there when the sources run as they are.
declare const HOLDFAST_VERSION: string | undefined;

export function holdfastVersion(): string {
  if (typeof HOLDFAST_VERSION === "string") return HOLDFAST_VERSION;
  const manifest: { version: string } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return manifest.version;
}
