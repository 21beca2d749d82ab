import { createDriver } from "../../src/sandbox/drivers/local/driver.ts";
import { testSandboxDriver } from "../contract/sandbox-driver.ts";
import { hostHarness } from "../helpers/host-harness.ts";
import { withoutFiles } from "../helpers/without-files.ts";

testSandboxDriver({
  name: "local, without its own access to files",
  createHarness: hostHarness((context) => withoutFiles(createDriver(context))),
  // What reads and writes files of the sandbox from outside.
  topics: ["sessions", "directories", "output of calls", "trouble", "full disk"],
});
