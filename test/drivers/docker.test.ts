import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll } from "vitest";
import { createDriver } from "../../src/sandbox/drivers/docker/driver.ts";
import type { CreateHarness } from "../contract/sandbox-driver/harness.ts";
import { testSandboxDriver } from "../contract/sandbox-driver.ts";
import { buildDaemon } from "../helpers/daemon.ts";
import { defaultSettings, driverContext } from "../helpers/driver-context.ts";
import { ENGINE_LIMIT_MS, type TestEngine, testEngine } from "../helpers/engine.ts";
import { BASE_IMAGE } from "../helpers/engine-image.ts";
import { describeIf } from "../helpers/requirements.ts";

describeIf(["cc", "dockerd", "mmdebstrap"], "on a real engine", () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await testEngine();
    // Names that cases give to images.
    for (const name of ["an-image", "old"]) await engine.run(["tag", BASE_IMAGE, name]);
  }, ENGINE_LIMIT_MS);

  const createHarness: CreateHarness = async (directory) => {
    const home = join(directory, "home");
    await mkdir(home);
    // The static one: the other build needs libraries that an image does not have.
    const daemonProgram = await buildDaemon("release");
    const hostEnv = { PATH: process.env.PATH ?? "", HOME: home, ...engine.env };
    const create = () =>
      createDriver(
        driverContext({
          sandboxDir: join(directory, "sandboxes"),
          hostEnv,
          daemonProgram,
          settings: { ...defaultSettings(), docker_image: BASE_IMAGE },
          variable: (name) => (name === "HOLDFAST_DOCKER_BINARY" ? engine.binary : undefined),
        }),
      );
    return { driver: create(), another: create, cleanup: async () => {} };
  };
  testSandboxDriver({
    name: "docker",
    createHarness,
    skip: [
      {
        reason: "a command in a container does not see the disk that holds its state",
        tests: ["a command that fills the disk ran, keeps the old state, and says so"],
      },
    ],
  });
});
