import { spawnSync } from "node:child_process";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";

test("./holdfast hands over which signals its caller ignores, because Node forgets it", async () => {
  await using clone = await readyClone();
  expect(launch(clone.path)).toEqual({ status: 0, stdout: "a b c\n", stderr: "" });
  expect(launch(clone.path, "trap '' HUP INT TERM USR1;")).toEqual({ status: 0, stdout: "__ignored=16387 a b c\n", stderr: "" });
});

test("./holdfast needs no PATH once it is set up", async () => {
  await using clone = await readyClone();
  expect(launch(clone.path, "PATH=;")).toEqual({ status: 0, stdout: "a b c\n", stderr: "" });
});

test.each([
  ["its cache", ".cache", (path: string) => writeFile(path, "")],
  ["its lock", ".cache/setup.lock", (path: string) => mkdir(path, { recursive: true })],
])("./holdfast says that a clone with a stale build cannot be written (%s), and nothing else does", async (_, name, block) => {
  await using clone = await readyClone();
  await rm(join(clone.path, "dist/.built"));
  await block(join(clone.path, name));
  for (const before of ["", "PATH=;"]) {
    const { status, stdout, stderr } = launch(clone.path, before);
    expect({ status, stdout }).toEqual({ status: 125, stdout: "" });
    expect(stderr).toMatch(/^holdfast: this clone has to be set up or built again, but .* cannot be written\nhint: .*\n$/);
  }
});

function launch(clone: string, before = "") {
  const { status, stdout, stderr } = spawnSync("sh", ["-c", `${before} exec "$0" a 'b c'`, join(clone, "holdfast")], { encoding: "utf8" });
  return { status, stdout, stderr };
}

/** A clone that counts as set up. In the place of Node is something that prints the arguments of the program. */
async function readyClone() {
  const clone = await temporaryDirectory();
  const root = join(import.meta.dirname, "../..");
  const copied = ["holdfast", "scripts", "package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json"];
  for (const path of copied) await cp(join(root, path), join(clone.path, path), { recursive: true });
  for (const path of ["src", "holdfastd", "dist", "node_modules/node/bin"]) await mkdir(join(clone.path, path), { recursive: true });
  await writeFile(join(clone.path, "node_modules/node/bin/node"), '#!/bin/sh\nshift 2\necho "$@"\n', { mode: 0o755 });
  for (const path of ["node_modules/.package-lock.json", "dist/.built"]) await writeFile(join(clone.path, path), "");
  return clone;
}
