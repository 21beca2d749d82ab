import { createDriver } from "../../src/sandbox/drivers/local/driver.ts";
import { testSandboxDriver } from "../contract/sandbox-driver.ts";
import { debugDaemon } from "../helpers/daemon.ts";
import { hostHarness } from "../helpers/host-harness.ts";
import { describeIf } from "../helpers/requirements.ts";

describeIf("cc", "with holdfastd", () => {
  testSandboxDriver({
    name: "local",
    createHarness: async (directory) => hostHarness(createDriver, { daemonProgram: await debugDaemon() })(directory),
  });
});
