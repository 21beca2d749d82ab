import { createDriver } from "../../src/sandbox/drivers/local/driver.ts";
import { testSandboxDriver } from "../contract/sandbox-driver.ts";
import { hostHarness } from "../helpers/host-harness.ts";

testSandboxDriver({
  name: "local without holdfastd",
  createHarness: hostHarness(createDriver),
  // What processes of our own do instead of the daemon. What the shell does with a command is the same in both.
  topics: [
    ...(["ownership", "life of a sandbox", "spawn", "pipes", "kill", "sessions", "beginnings of calls", "ends of calls"] as const),
    ...(["output of calls", "input of calls", "trouble", "concurrency", "full disk"] as const),
  ],
});
