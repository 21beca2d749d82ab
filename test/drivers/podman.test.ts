import { beforeAll } from "vitest";
import { testSandboxDriver } from "../contract/sandbox-driver.ts";
import { ENGINE_LIMIT_MS, type TestEngine } from "../helpers/engine.ts";
import { ENGINE_SKIPS, engineHarness } from "../helpers/engine-harness.ts";
import { testPodman } from "../helpers/podman.ts";
import { describeIf } from "../helpers/requirements.ts";

describeIf(["cc", "podman", "mmdebstrap"], "on a real engine", () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await testPodman();
  }, ENGINE_LIMIT_MS);

  testSandboxDriver({
    name: "docker backend with podman",
    createHarness: engineHarness(() => engine),
    // What the engine has a part in. Within its container, calls are those of the same holdfastd as with Docker.
    topics: ["ownership", "life of a sandbox", "spawn", "pipes", "kill", "sessions", "ends of calls", "trouble", "full disk"],
    skip: ENGINE_SKIPS,
  });
});
