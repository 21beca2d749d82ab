import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FileResult, RunResult, TestFile } from "../../scripts/check/events.ts";
import { failuresOf } from "../../scripts/check/report.ts";
import { runTests, type TestRun } from "../../scripts/check/test-runs.ts";
import { runVitest } from "../../scripts/check/vitest.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Fails the first time that it runs, as `how` says. */
const once = (name: string, how: string) => `
import { existsSync, writeFileSync } from "node:fs";
import { test } from "vitest";
test("${name}", async () => {
  if (existsSync(import.meta.dirname + "/${name}.ran")) return;
  writeFileSync(import.meta.dirname + "/${name}.ran", "");
  ${how}
});
`;
const FILES = {
  always: `import { test } from "vitest"; test("always fails", () => { throw new Error("as it must"); });`,
  unloadable: `import "./nowhere.ts";`,
  once: once("once", `throw new Error("only the first time");`),
  crash: once("crash", "process.kill(process.pid, 'SIGKILL'); await new Promise(() => {});"),
  unhandled: once(
    "unhandled",
    `setImmediate(() => { throw new Error("out of nowhere"); }); await new Promise((resolve) => setTimeout(resolve, 100));`,
  ),
  good: `import { test } from "vitest"; test("passes", () => {}); test.skip("is skipped", () => {});`,
};

describe("a run of tests", () => {
  let result: TestRun;
  let root: string;
  const said: string[] = [];
  beforeAll(async () => {
    // Below the repository, so that vitest is found.
    mkdirSync(join(ROOT, ".cache"), { recursive: true });
    root = mkdtempSync(join(ROOT, ".cache/test-run-"));
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(root, `${name}.test.ts`), text);
    writeFileSync(join(root, "vitest.config.ts"), `export default { test: { pool: "forks", projects: [{ test: { name: "only" } }] } };`);
    const run = (files?: readonly TestFile[]) => runVitest({ root, files, workers: 3 });
    result = await runTests({ strict: false, run, say: (line) => said.push(line) });
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  const named = (name: keyof typeof FILES) => result.files.find(({ file }) => file.path === `${name}.test.ts`);
  const flaky = (name: keyof typeof FILES) => result.flaky.find(({ file }) => file.path === `${name}.test.ts`);

  test("fails a test that fails twice, and a file that cannot be loaded", () => {
    expect(named("always")).toMatchObject({ state: "failed", tests: [{ name: "always fails", state: "failed" }] });
    expect(failuresOf(named("always") as FileResult)).toEqual(["always.test.ts: always fails (Error: as it must)"]);
    expect(named("unloadable")).toMatchObject({ state: "failed", tests: [], errors: [expect.stringContaining("nowhere.ts")] });
    expect(result.errors).toEqual([]);
  });

  test("takes for flaky what passes when it runs alone, and keeps how it failed before", () => {
    expect(result.flaky.map(({ file }) => file.path).sort()).toEqual(["crash.test.ts", "once.test.ts", "unhandled.test.ts"]);
    for (const name of ["once", "crash", "unhandled"] as const) expect(named(name)).toMatchObject({ state: "passed" });
    expect(failuresOf(flaky("once")?.first as FileResult)).toEqual(["once.test.ts: once (Error: only the first time)"]);
  });

  test("counts a process that died and an error outside the tests against the file that was running", () => {
    expect(flaky("crash")?.first).toMatchObject({ errors: [expect.stringContaining("Worker exited unexpectedly")] });
    expect(flaky("unhandled")?.first).toMatchObject({ state: "failed", errors: [expect.stringContaining("out of nowhere")] });
  });

  test("says what it runs again, and leaves alone what passed", () => {
    expect(said.map((line) => line.replace("second chance for only: ", "")).sort()).toEqual(
      ["always", "crash", "once", "unhandled", "unloadable"].map((name) => `${name}.test.ts`),
    );
    expect(named("good")).toMatchObject({ state: "passed", tests: [{ state: "passed" }, { state: "skipped" }] });
  });
});

describe("a second chance", () => {
  const file = (path: string, state: FileResult["state"]): FileResult => ({
    file: { path, project: "" },
    state,
    milliseconds: 1,
    tests: state === "not begun" ? [] : [{ name: "a", state: state === "passed" ? "passed" : "failed", errors: [path] }],
    errors: [],
  });
  const names = Array.from({ length: 11 }, (_, index) => `${index}`);

  async function runs(
    results: readonly RunResult[],
    strict = false,
  ): Promise<TestRun & { readonly asked: (readonly string[] | undefined)[] }> {
    const left = [...results];
    const asked: (readonly string[] | undefined)[] = [];
    const run = async (files?: readonly TestFile[]) => {
      asked.push(files?.map(({ path }) => path));
      return left.shift() ?? { files: files?.map(({ path }) => file(path, "passed")) ?? [], errors: [] };
    };
    return { ...(await runTests({ run, strict, say: () => {} })), asked };
  }

  test("is given to each of four files, which are then too many", async () => {
    const four = names.slice(0, 4);
    const { flaky, asked } = await runs([{ files: four.map((name) => file(name, "failed")), errors: [] }]);
    expect(flaky).toHaveLength(4);
    expect(asked).toEqual([undefined, ...four.map((name) => [name])]);
  });

  test.each([
    ["a strict check", names.slice(0, 1), true],
    ["more than ten files", names, false],
  ])("is not given to %s", async (_, failed, strict) => {
    const { flaky, files, asked } = await runs([{ files: failed.map((name) => file(name, "failed")), errors: [] }], strict);
    expect(flaky).toEqual([]);
    expect(files.every(({ state }) => state === "failed")).toBe(true);
    expect(asked).toEqual([undefined]);
  });

  test("comes after the first one of files that had not begun when a run died", async () => {
    const { files, flaky, asked } = await runs([
      { files: [file("a", "unfinished"), file("b", "not begun"), file("c", "passed")], errors: [] },
      { files: [file("b", "passed")], errors: [] },
    ]);
    expect(asked).toEqual([undefined, ["b"], ["a"]]);
    expect(flaky.map(({ file: { path } }) => path)).toEqual(["a"]);
    expect(files.map(({ state }) => state)).toEqual(["passed", "passed", "passed"]);
  });
});
