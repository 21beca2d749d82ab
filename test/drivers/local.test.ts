import { createDriver } from "../../src/sandbox/drivers/local/driver.ts";
import { testSandboxDriver } from "../contract/sandbox-driver.ts";
import { hostHarness } from "../helpers/host-harness.ts";

testSandboxDriver({
  name: "local without holdfastd",
  createHarness: hostHarness(createDriver),
  // What the shell does with a command is the same with and without the daemon.
  allBut: ["variables", "directories", "bad input", "modes of the shell", "habits of agents"],
});
