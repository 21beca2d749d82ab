/** @module Builds holdfastd for this machine, where a C compiler is. Without one Holdfast works too, only slower and with less. */
import { spawnSync } from "node:child_process";
import { copyFile, rename } from "node:fs/promises";
import { join } from "node:path";

export async function buildDaemon({ root, outDir }: { root: string; outDir: string }): Promise<void> {
  if (process.platform !== "linux") return notice("it is for Linux");
  const built = join(root, ".cache/holdfastd");
  const { status, error, stderr } = spawnSync("make", ["-s", "-C", join(root, "holdfastd"), `OUT=${built}`, "release"], {
    encoding: "utf8",
  });
  if (error !== undefined || status !== 0) return notice(error?.message ?? lastLine(stderr));
  const target = join(outDir, `holdfastd-${process.platform}-${process.arch}`);
  await copyFile(join(built, "holdfastd"), `${target}.new`);
  // A daemon may run from the old file, so it is replaced, not written to.
  await rename(`${target}.new`, target);
}

function notice(reason: string): void {
  console.error(`holdfast: built without holdfastd (${reason}); \`holdfast doctor\` says what that costs`);
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "make failed";
}
