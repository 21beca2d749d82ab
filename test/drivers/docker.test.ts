import { beforeAll } from "vitest";
import { testSandboxDriver } from "../contract/sandbox-driver.ts";
import { ENGINE_LIMIT_MS, type TestEngine, testEngine } from "../helpers/engine.ts";
import { ENGINE_SKIPS, engineHarness } from "../helpers/engine-harness.ts";
import { describeIf } from "../helpers/requirements.ts";

describeIf(["cc", "dockerd", "mmdebstrap"], "on a real engine", () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await testEngine();
  }, ENGINE_LIMIT_MS);

  testSandboxDriver({ name: "docker", createHarness: engineHarness(() => engine), skip: ENGINE_SKIPS });
});
