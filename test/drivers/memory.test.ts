import { createDriver } from "../../src/sandbox/drivers/memory/driver.ts";
import { testSandboxDriver } from "../contract/sandbox-driver.ts";
import { hostHarness } from "../helpers/host-harness.ts";

testSandboxDriver({ name: "memory", createHarness: hostHarness(createDriver) });
