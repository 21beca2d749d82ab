/** @module How this very Holdfast is started again. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { HoldfastError } from "../base/errors.ts";

/** Beside the bundles, which are in dist/ and dist/body/; in the sources it is the program itself. */
const PLACES = ["./holdfast.js", "../holdfast.js", "../cli/main.ts"];

/** Node, its flags and the program; arguments follow. */
export function ownProgram(): string[] {
  const paths = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  const path = paths.find((each) => existsSync(each));
  if (path === undefined) throw new HoldfastError("internal", "the program of this installation was not found beside its library");
  // Otherwise what is short-lived is collected several times before the program has even started.
  return [process.execPath, "--min-semi-space-size=16", path];
}
