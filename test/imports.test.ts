import { spawnSync } from "node:child_process";
import { closeSync, globSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { ImportReport } from "./helpers/import-modules.ts";

const SRC = join(dirname(import.meta.dirname), "src");
const PROGRAM = join(SRC, "cli/main.ts");

const scratch = mkdtempSync(join(tmpdir(), "holdfast-imports-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Imports the modules in one fresh process that owns an empty working directory and home, and says what that left behind. */
function effectsOfImporting(modules: string[]) {
  const home = mkdtempSync(join(scratch, "home-"));
  const cwd = mkdtempSync(join(scratch, "cwd-"));
  // A file and not a pipe: node:util opens the standard streams when it is loaded, and pipes would count as open handles.
  const outputFile = join(mkdtempSync(join(scratch, "output-")), "text");
  const output = openSync(outputFile, "w");
  const child = spawnSync(process.execPath, [join(import.meta.dirname, "helpers/import-modules.ts"), ...modules], {
    cwd,
    env: { HOME: home, PATH: process.env.PATH },
    stdio: ["ignore", output, output, "pipe"],
    encoding: "utf8",
    timeout: 60_000,
  });
  const report = child.output[3] ? (JSON.parse(child.output[3]) as ImportReport) : undefined;
  closeSync(output);
  const files = [...readdirSync(home), ...readdirSync(cwd)];
  return { status: child.status, printed: readFileSync(outputFile, "utf8"), report, files };
}

describe("importing", () => {
  test("every module of src at once has no side effect", () => {
    const modules = globSync("**/*.ts", { cwd: SRC })
      .map((path) => join(SRC, path))
      .filter((path) => path !== PROGRAM && !path.endsWith(".test.ts"));
    expect(modules.length).toBeGreaterThan(0);
    const { status, printed, report, files } = effectsOfImporting(modules);
    expect(printed).toBe("");
    expect(status).toBe(0);
    expect(report?.after).toEqual(report?.before);
    expect(report).toBeDefined();
    expect(files).toEqual([]);
  });

  test.each([
    ["a timer", "setInterval(() => process.exit(0), 1);"],
    ["a listener", "process.on('SIGTERM', () => {});"],
    ["a variable", "process.env.LEFT = '1';"],
    ["an exit code", "process.exitCode = 3;"],
  ])("a module that leaves %s is found", (_, text) => {
    const { report } = effectsOfImporting([moduleWith(text)]);
    expect(report?.after).not.toEqual(report?.before);
  });

  test("a module that prints or writes a file is found", () => {
    const { printed, files } = effectsOfImporting([
      moduleWith('import { writeFileSync } from "node:fs";\nconsole.log("hi"); writeFileSync("left.txt", "");'),
    ]);
    expect(printed).toBe("hi\n");
    expect(files).toEqual(["left.txt"]);
  });
});

function moduleWith(text: string): string {
  const directory = join(scratch, "modules");
  mkdirSync(directory, { recursive: true });
  const path = join(directory, `${readdirSync(directory).length}.ts`);
  writeFileSync(path, text);
  return path;
}
