import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildDaemon } from "../helpers/daemon.ts";
import { testIf } from "../helpers/requirements.ts";

// docs/decisions/2026-11-15-size-of-the-daemon.md says why, and what has to happen before they grow.
const MOST_LINES = 3_500;
const MOST_BYTES = 100_000;

test("the sources of the daemon stay within their limit", () => {
  const directory = join(import.meta.dirname, "../../holdfastd");
  const files = readdirSync(directory).filter((name) => /\.[ch]$/.test(name));
  const lines = files.map((name) => readFileSync(join(directory, name), "utf8").split("\n").length - 1);
  expect(files.length).toBeGreaterThan(10);
  expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(MOST_LINES);
});

testIf("musl-gcc", "the static program stays within its limit", async () => {
  const program = await buildDaemon("release");
  expect(spawnSync(program, ["version"], { encoding: "utf8" }).stdout).toMatch(/^holdfastd /);
  expect(statSync(program).size).toBeLessThanOrEqual(MOST_BYTES);
});
