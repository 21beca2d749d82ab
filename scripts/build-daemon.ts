/** @module Builds holdfastd for this machine, where a C compiler is. Without one Holdfast works too, only slower and with less. */
import { spawnSync } from "node:child_process";
import { copyFile, readFile, rename } from "node:fs/promises";
import { basename, join } from "node:path";

/** What it was built with. stale.sh builds again where better tools have come since, but not what has `failed` with all of them. */
export type BuiltWith = "musl-gcc" | "cc" | "nothing" | "failed";

export async function buildDaemon({ root, outDir }: { root: string; outDir: string }): Promise<BuiltWith> {
  if (process.platform !== "linux") return notice("it is for Linux", "failed");
  const built = join(root, ".cache/holdfastd");
  const { status, error, stderr } = spawnSync("make", ["-s", "-C", join(root, "holdfastd"), `OUT=${built}`, "release"], {
    encoding: "utf8",
  });
  if (error !== undefined) return notice(error.message, "nothing");
  if (status !== 0) return notice(lastLine(stderr), hasCompiler() ? "failed" : "nothing");
  const target = join(outDir, `holdfastd-${process.platform}-${process.arch}`);
  await copyFile(join(built, "holdfastd"), `${target}.new`);
  // A daemon may run from the old file, so it is replaced, not written to.
  await rename(`${target}.new`, target);
  const compiler = basename((await readFile(join(built, "compiler"), "utf8")).trim());
  return compiler === "musl-gcc" ? compiler : "cc";
}

function hasCompiler(): boolean {
  return ["musl-gcc", "cc"].some((program) => spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0);
}

function notice(reason: string, builtWith: BuiltWith): BuiltWith {
  console.error(`holdfast: built without holdfastd (${reason}); \`holdfast doctor\` says what that costs`);
  return builtWith;
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "make failed";
}
