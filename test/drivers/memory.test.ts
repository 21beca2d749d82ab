import { createDriver } from "../../src/sandbox/drivers/memory/driver.ts";
import { testSandboxDriver } from "../contract/sandbox-driver.ts";
import { hostHarness } from "../helpers/host-harness.ts";

testSandboxDriver({
  name: "memory",
  createHarness: hostHarness(createDriver),
  // Calls go through the connection of the local driver without holdfastd.
  topics: ["ownership", "life of a sandbox", "spawn", "kill", "sessions", "trouble"],
});
