import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createTestCli, SOURCE_PROGRAM, type TestCli } from "../helpers/cli.ts";

const ROOT = join(import.meta.dirname, "../..");
const RECORDER = join(import.meta.dirname, "../helpers/record-modules.ts");

/** The modules that a command line loads: files relative to the repository, and names of Node's own. */
async function modulesOf(cli: TestCli, args: readonly string[]): Promise<string[]> {
  const target = join(cli.directory, "modules.json");
  const program = [process.execPath, "--import", RECORDER, SOURCE_PROGRAM];
  expect(await cli.runProcess(args, { program, env: { RECORD_MODULES_TO: target } })).toMatchObject({ status: 0, stderr: "" });
  const urls = JSON.parse(await readFile(target, "utf8")) as string[];
  return urls.map((url) => (url.startsWith("file:") ? fileURLToPath(url).slice(ROOT.length + 1) : url));
}

const matching = (modules: readonly string[], pattern: RegExp) => modules.filter((module) => pattern.test(module));

test("--version loads next to nothing", async () => {
  await using cli = await createTestCli();
  const modules = await modulesOf(cli, ["--version"]);
  expect(matching(modules, /^(src|node_modules)\//).sort()).toEqual([
    "src/base/errors.ts",
    "src/base/version.ts",
    "src/base/without-password.ts",
    "src/cli/main.ts",
    "src/cli/render.ts",
  ]);
});

test("exec loads its own verb, operation and driver, and no other", async () => {
  await using cli = await createTestCli();
  const modules = await modulesOf(cli, ["exec", "true"]);
  expect(matching(modules, /^src\/cli\/commands\//).sort()).toEqual(["src/cli/commands/exec.ts", "src/cli/commands/index.ts"]);
  expect(matching(modules, /^src\/app\/operations\//)).toEqual(["src/app/operations/call-run.ts"]);
  expect(matching(modules, /^src\/sandbox\/drivers\/[^/]+\/driver\.ts$/)).toEqual(["src/sandbox/drivers/local/driver.ts"]);
  expect(matching(modules, /completion|edit|yaml-splice|yaml-render|node:sqlite|node:readline/)).toEqual([]);
});

test("yaml is loaded only where there is a config.yaml", async () => {
  await using cli = await createTestCli();
  const yaml = /^node_modules\/yaml\//;
  expect(matching(await modulesOf(cli, ["exec", "true"]), yaml)).toEqual([]);
  await mkdir(cli.home, { recursive: true });
  await writeFile(join(cli.home, "config.yaml"), "terminal:\n  timeout: 60\n");
  expect(matching(await modulesOf(cli, ["exec", "true"]), yaml)).not.toEqual([]);
});

test("help loads no verb but the one it is about, and no driver", async () => {
  await using cli = await createTestCli();
  const commands = /^src\/cli\/commands\/(?!index)|drivers\/[^/]+\/driver\.ts$/;
  expect(matching(await modulesOf(cli, ["--help"]), commands)).toEqual([]);
  expect(matching(await modulesOf(cli, ["help", "doctor"]), commands)).toEqual(["src/cli/commands/doctor.ts"]);
});

test("K32 kysely is loaded only where a board is opened", async () => {
  await using cli = await createTestCli();
  const kysely = /^node_modules\/kysely\//;
  const plain = [
    ["exec", "--", "true"],
    ["kanban", "list", "--help"],
    ["profile", "list"],
    ["help", "kanban"],
  ];
  for (const args of plain) expect(matching(await modulesOf(cli, args), kysely), args.join(" ")).toEqual([]);
  expect(matching(await modulesOf(cli, ["kanban", "boards", "list"]), kysely)).not.toEqual([]);
});
