import { beforeAll } from "vitest";
import type { Skip } from "../contract/sandbox-driver/harness.ts";
import { testSandboxDriver } from "../contract/sandbox-driver.ts";
import { ENGINE_LIMIT_MS, type TestEngine, testEngine } from "../helpers/engine.ts";
import { ENGINE_SKIPS, engineHarness } from "../helpers/engine-harness.ts";
import { describeIf } from "../helpers/requirements.ts";

const EXEC_SKIPS: readonly Skip[] = [
  {
    reason: "an engine hands on what a program writes in pieces that end anywhere, also within a line",
    tests: ["S34 the file has both streams, each whole and in order"],
  },
  {
    reason: "more output is on its way through the engine than the disk has left, so the session is saved before the disk is full",
    tests: ["output that fills the disk is said, and the command runs to its end"],
  },
  {
    reason: "each is an exec of the engine, of which it makes a few per second",
    tests: ["S38 200 calls at once are all right, each with its own output"],
  },
];

describeIf(["cc", "dockerd", "mmdebstrap"], "on a real engine", () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await testEngine();
  }, ENGINE_LIMIT_MS);

  testSandboxDriver({
    name: "docker without holdfastd",
    createHarness: engineHarness(() => engine, { daemonProgram: null }),
    // What goes over the engine's own pipes and signals instead of the daemon's.
    topics: ["spawn", "pipes", "kill", "sessions", "ends of calls", "output of calls", "input of calls", "trouble"],
    skip: [...ENGINE_SKIPS, ...EXEC_SKIPS],
  });
});
