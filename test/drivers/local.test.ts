import { createDriver } from "../../src/sandbox/drivers/local/driver.ts";
import { testSandboxDriver } from "../contract/sandbox-driver.ts";
import { hostHarness } from "../helpers/host-harness.ts";

testSandboxDriver({ name: "local", createHarness: hostHarness(createDriver) });
