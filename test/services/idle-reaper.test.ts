import { createIdleReaper } from "../../src/lifecycle/idle-reaper.ts";
import { createRegistry } from "../../src/lifecycle/registry.ts";
import { createTeardown } from "../../src/lifecycle/teardown.ts";
import type { SandboxRef } from "../../src/sandbox/driver.ts";
import { createDriver } from "../../src/sandbox/drivers/memory/driver.ts";
import { testService } from "../contract/service.ts";
import { driverContext } from "../helpers/driver-context.ts";
import { ownerOf } from "./lifecycle-bench.ts";

const INTERVAL_MS = 60_000;

testService({
  name: "idle reaper",
  create({ clock, log, enterRound }) {
    const memory = createDriver(driverContext({ sandboxDir: "/nonexistent", log }));
    // A sandbox that should be gone but never is: each round tries once more to remove it.
    const ref: SandboxRef = {
      driver: "memory",
      id: "memory-0",
      owner: ownerOf("t1"),
      fingerprint: "",
      state: "running",
      createdAt: 0,
    };
    const driver = { ...memory, destroy: enterRound };
    const registry = createRegistry({ clock, open: () => Promise.reject(new Error("nothing is opened here")) });
    const teardown = createTeardown({ driver, registry, clock, log, audit: () => {} });
    const service = createIdleReaper({
      driver,
      registry,
      teardown: { ...teardown, unremoved: () => [ref] },
      clock,
      log,
      idleMs: INTERVAL_MS,
      intervalMs: INTERVAL_MS,
    });
    return { service, intervalMs: INTERVAL_MS };
  },
});
