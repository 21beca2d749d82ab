/** @module Looking into a sandbox as it is: nothing is made, replaced or started for it. */
import { HoldfastError } from "../base/errors.ts";
import type { Connection, SandboxDriver, SandboxRef } from "../sandbox/driver.ts";
import { createSandbox, type Sandbox, type SandboxOptions } from "../sandbox/sandbox.ts";

export interface Visits {
  /**
   * Its connection is open until `close`.
   * @throws `sandbox-stopped`; `sandbox-not-found` when it no longer exists
   */
  visit(ref: SandboxRef): Promise<Sandbox>;
  close(): Promise<void>;
}

export function createVisits(driver: SandboxDriver, forCalls: Omit<SandboxOptions, "ref" | "connection">): Visits {
  const connections: Connection[] = [];
  const connect = async (ref: SandboxRef): Promise<Connection> => {
    const near = await driver.attach?.(ref.owner);
    if (near?.ref.id === ref.id) return near.connection;
    await near?.connection[Symbol.asyncDispose]();
    return driver.connect(ref);
  };
  return {
    async visit(ref) {
      if (ref.state === "stopped")
        throw new HoldfastError("sandbox-stopped", `the sandbox of task ${ref.owner.task} is stopped, so nothing runs in it`, {
          facts: { sandbox: ref.id, task: ref.owner.task },
        });
      const connection = await connect(ref);
      connections.push(connection);
      return createSandbox({ ref, connection, ...forCalls });
    },
    async close() {
      // One that does not close properly takes nothing away from the sandbox.
      await Promise.allSettled(connections.splice(0).map((connection) => connection[Symbol.asyncDispose]()));
    },
  };
}
