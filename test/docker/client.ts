/**
 * @module A process of its own that uses sandboxes on a real engine. It is told what to do in lines on its input, and says in lines on its
 * output how far it has come. `client-process.ts` starts it.
 */
import { createInterface } from "node:readline";
import { systemClock } from "../../src/base/clock.ts";
import { describeError, HoldfastError } from "../../src/base/errors.ts";
import { silentLogger } from "../../src/base/log.ts";
import { createLifecycle, type Lifecycle } from "../../src/lifecycle/lifecycle.ts";
import type { Owner, SandboxDriver } from "../../src/sandbox/driver.ts";
import { createDriver } from "../../src/sandbox/drivers/docker/driver.ts";
import type { SandboxSpec } from "../../src/sandbox/spec.ts";
import { defaultSettings, driverContext } from "../helpers/driver-context.ts";
import { BASE_IMAGE } from "../helpers/engine-image.ts";

export interface ClientConfig {
  /** What HOLDFAST_DOCKER_BINARY must be. */
  readonly binary: string;
  readonly env: Readonly<Record<string, string>>;
  readonly sandboxDir: string;
  readonly daemonProgram: string;
}

/** `call` runs a command in the sandbox and keeps it; `live` uses it, lets go of it and removes it. */
export interface Order {
  readonly do: "call" | "live";
  readonly owner: Owner;
  readonly spec: SandboxSpec;
  readonly command: string;
}

export interface Report {
  /** `ready` before the first order; the others tell what is over. */
  readonly step: "ready" | "opened" | "called" | "started" | "closed" | "removed" | "failed";
  readonly id?: string;
  readonly output?: string;
  readonly code?: string;
  readonly error?: string;
}

function say(report: Report): void {
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

function newLifecycle(driver: SandboxDriver): Lifecycle {
  return createLifecycle({
    driver,
    clock: systemClock,
    log: silentLogger,
    audit: () => {},
    onDrift: "warn",
    idleMs: 300_000,
    limits: { keepChars: 50_000, spillBytes: 0, spillDirectory: "/nonexistent" },
    defaultTimeoutMs: 60_000,
    startDirectory: "/workspace",
  });
}

async function live(driver: SandboxDriver, { owner, spec, command }: Order): Promise<void> {
  const lifecycle = newLifecycle(driver);
  const { sandbox } = await lifecycle.acquire(owner, spec);
  say({ step: "opened", id: sandbox.ref.id });
  const { output } = await sandbox.run(command);
  say({ step: "called", output });
  // Short enough not to keep a sandbox from stopping itself when nobody is left.
  await sandbox.processes.start("sleep 1");
  say({ step: "started" });
  await lifecycle.close();
  say({ step: "closed" });
  await newLifecycle(driver).releaseTask(owner, { forceRemove: true });
  say({ step: "removed" });
}

async function serve({ binary, env, sandboxDir, daemonProgram }: ClientConfig): Promise<void> {
  const driver = createDriver(
    driverContext({
      sandboxDir,
      hostEnv: { PATH: process.env.PATH ?? "", HOME: sandboxDir, ...env },
      daemonProgram,
      settings: { ...defaultSettings(), docker_image: BASE_IMAGE },
      variable: (name) => (name === "HOLDFAST_DOCKER_BINARY" ? binary : undefined),
    }),
  );
  const lifecycle = newLifecycle(driver);
  say({ step: "ready" });
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line) as Order;
    try {
      if (order.do === "live") await live(driver, order);
      else {
        const { sandbox } = await lifecycle.acquire(order.owner, order.spec);
        const { output } = await sandbox.run(order.command);
        say({ step: "called", id: sandbox.ref.id, output });
      }
    } catch (error) {
      say({ step: "failed", code: HoldfastError.isInstance(error) ? error.code : "none", error: describeError(error) });
    }
  }
  await lifecycle.close();
}

await serve(JSON.parse(process.argv[2] ?? "") as ClientConfig);
