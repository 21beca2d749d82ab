/** @module What the contract suite, and other tests, need of the docker backend on a real engine. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxDriver } from "../../src/sandbox/driver.ts";
import type { DriverContext, DriverSettings } from "../../src/sandbox/driver-context.ts";
import { createDriver } from "../../src/sandbox/drivers/docker/driver.ts";
import type { CreateHarness, Skip } from "../contract/sandbox-driver/harness.ts";
import { buildDaemon } from "./daemon.ts";
import { defaultSettings, driverContext } from "./driver-context.ts";
import type { TestEngine } from "./engine.ts";
import { BASE_IMAGE } from "./engine-image.ts";

export interface EngineDriverOptions extends Partial<Pick<DriverContext, "audit" | "clock" | "daemonProgram" | "log">> {
  readonly settings?: Partial<DriverSettings>;
  readonly variables?: Readonly<Record<string, string>>;
}

/** A driver on that engine whose sandboxes are kept in `directory`. */
export async function engineDriver(
  engine: TestEngine,
  directory: string,
  { settings = {}, variables = {}, ...context }: EngineDriverOptions = {},
): Promise<SandboxDriver> {
  const home = join(directory, "home");
  await mkdir(home, { recursive: true });
  return createDriver(
    driverContext({
      sandboxDir: join(directory, "sandboxes"),
      hostEnv: { PATH: process.env.PATH ?? "", HOME: home, ...engine.env },
      // The static one: the other build needs libraries that an image does not have.
      daemonProgram: await buildDaemon("release"),
      settings: { ...defaultSettings(), docker_image: BASE_IMAGE, ...settings },
      variable: (name) => (name === "HOLDFAST_DOCKER_BINARY" ? engine.binary : variables[name]),
      ...context,
    }),
  );
}

/** What the command line needs to use that engine. */
export function engineVariables(engine: TestEngine): Record<string, string> {
  return {
    ...engine.env,
    HOLDFAST_DOCKER_BINARY: engine.binary,
    TERMINAL_BACKEND: "docker",
    TERMINAL_DOCKER_IMAGE: BASE_IMAGE,
    TERMINAL_DOCKER_NETWORK: "false",
    // The engine's storage cannot limit it, and would say so.
    TERMINAL_CONTAINER_DISK: "0",
  };
}

export function engineHarness(engine: () => TestEngine, options: EngineDriverOptions = {}): CreateHarness {
  return async (directory) => {
    // Names that cases give to images. One after the other: of an image in a store that is only read, Podman keeps one further name.
    await engine().run(["tag", BASE_IMAGE, "an-image"]);
    await engine().run(["tag", "an-image", "old"]);
    const driver = await engineDriver(engine(), directory, options);
    const second = await engineDriver(engine(), directory, options);
    return { driver, another: () => second, cleanup: async () => {} };
  };
}

export const ENGINE_SKIPS: readonly Skip[] = [
  {
    reason: "a command in a container does not see the disk that holds its state",
    tests: ["a command that fills the disk ran, keeps the old state, and says so"],
  },
];
