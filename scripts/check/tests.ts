/** @module The tests of ./check: all of them or a part, with a second chance for what failed. Leaves tests.json and what was flaky. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { changedFiles, reachedBy, testFiles } from "./changed.ts";
import { keyOf, type RunResult, type TestFile } from "./events.ts";
import { failureText } from "./report.ts";
import { type FlakyFile, MOST_FLAKY, runTests, type TestRun } from "./test-runs.ts";
import { runVitest, type VitestOptions } from "./vitest.ts";

interface Lane {
  /** Of vitest.config.ts. */
  readonly projects: readonly string[];
  readonly workers: number;
  /** Needs neither an engine nor long. With --quick it runs alone. */
  readonly quick: boolean;
}

/** They run side by side, each in a vitest of its own. Podman has no engine: its programs wait for each other, so one at a time is quickest. */
const LANES: readonly Lane[] = [
  { projects: ["podman"], workers: 1, quick: false },
  { projects: ["docker"], workers: 2, quick: false },
  { projects: ["faults", "variants"], workers: 1, quick: false },
  { projects: ["programs", "sources"], workers: 2, quick: true },
];

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { quick: { type: "boolean" }, changed: { type: "boolean" }, soak: { type: "boolean" }, strict: { type: "boolean" } },
    allowPositionals: true,
  });
  const [directory = "."] = positionals;
  // Nothing else keeps the cores busy then while a test waits.
  const lanes = values.quick ? LANES.filter(({ quick }) => quick).map((lane) => ({ ...lane, workers: 2 * lane.workers })) : LANES;
  const only = values.changed ? whatChanged() : undefined;
  const env: Record<string, string> = values.soak ? { HOLDFAST_SOAK: join(process.cwd(), directory, "soak.tsv") } : {};
  const say = (line: string) => console.log(`check: ${line}`);
  const result = await runTests({
    strict: values.strict ?? false,
    say,
    async run(files = only, { alone } = { alone: false }) {
      if (files?.length === 0) return { files: [], errors: [] };
      if (alone) return await runVitest({ files, env, show: true });
      const results = await Promise.all(lanes.map((lane) => runLane(lane, { files, env })));
      return { files: results.flatMap((each) => each.files), errors: results.flatMap((each) => each.errors) };
    },
  });
  writeFileSync(join(directory, "tests.json"), JSON.stringify(result));
  keepFlaky(join(directory, "flaky"), result);
  process.exitCode = isGood(result) ? 0 : 1;
}

/** Nothing, if none of the files is in its projects. */
async function runLane({ projects, workers }: Lane, { files, env }: Pick<VitestOptions, "files" | "env">): Promise<RunResult> {
  const own = files?.filter(({ project }) => project === "" || projects.includes(project));
  if (own?.length === 0) return { files: [], errors: [] };
  const startedAt = performance.now();
  const result = await runVitest({ files: own, projects, workers, env, show: true });
  console.log(`check: ${projects.join(" and ")} ended after ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  return result;
}

function whatChanged(): TestFile[] {
  const changed = changedFiles();
  const reached = reachedBy(changed, testFiles());
  console.log(`check: ${changed.length} files changed since main, which ${reached.length} test files can reach`);
  return reached.map((path) => ({ path, project: "" }));
}

function isGood({ files, errors, flaky }: TestRun): boolean {
  return files.every(({ state }) => state === "passed") && errors.length === 0 && flaky.length <= MOST_FLAKY;
}

/** The first failure of each, whole. */
function keepFlaky(directory: string, { flaky }: TestRun): void {
  if (flaky.length > 0) mkdirSync(directory, { recursive: true });
  for (const { file, first } of flaky) writeFileSync(join(directory, flakyName(file)), `${keyOf(file)}\n\n${failureText(first)}\n`);
}

function flakyName({ project, path }: FlakyFile["file"]): string {
  return `${project}-${path.replaceAll("/", "-").replace(/\.test\.ts$/, "")}.txt`;
}
