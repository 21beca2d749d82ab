/** @module Where the holdfastd of this installation is. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { HoldfastError } from "../base/errors.ts";

/** What to do to have one. */
export const DAEMON_FIX = "install make and musl-gcc or cc (apt-get install make gcc musl-tools), then build again with `npm run build`";

/** Beside the bundles, which are in dist/ and dist/body/; seen from the sources that is ../../dist/. */
const PLACES = [".", "..", "../../dist"];

/** Null when it was not built for this machine. */
export function findDaemon(): string | null {
  const name = `holdfastd-${process.platform}-${process.arch}`;
  const paths = PLACES.map((place) => fileURLToPath(new URL(`${place}/${name}`, import.meta.url)));
  return paths.find((path) => existsSync(path)) ?? null;
}

/** @throws `daemon-missing` when it is required and not there */
export function daemonProgram(wanted: "auto" | "off" | "required"): string | null {
  const found = wanted === "off" ? null : findDaemon();
  if (found === null && wanted === "required") {
    throw new HoldfastError("daemon-missing", "terminal.daemon is `required`, but holdfastd was not built for this machine", {
      hint: DAEMON_FIX,
    });
  }
  return found;
}
