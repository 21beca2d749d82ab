/** @module A connection to a sandbox that is the host itself: used by the drivers that isolate nothing. */
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { HoldfastError } from "../../../base/errors.ts";
import { randomId } from "../../../base/ids.ts";
import type { Connection } from "../../driver.ts";
import { CALL_VARIABLE } from "../../session/script.ts";
import { createHostFiles } from "./host-files.ts";
import { createPipePool } from "./host-pipe-pool.ts";
import { spawnHostProcess } from "./host-process.ts";
import { processMarks } from "./refs.ts";

export interface HostConnectionOptions {
  sandboxId: string;
  stateDir: string;
  hostEnv: Readonly<Record<string, string>>;
  clock: Clock;
  /** Throws `sandbox-lost` (with `mayHaveRun: false`) when the sandbox is no longer there. */
  assertPresent(): Promise<void>;
}

/** Whatever fails because somebody removes the sandbox at that moment, fails for that reason. */
export function whilePresent(assertPresent: HostConnectionOptions["assertPresent"]) {
  return async <T>(work: () => Promise<T>): Promise<T> => {
    await assertPresent();
    try {
      return await work();
    } catch (error) {
      await assertPresent();
      throw error;
    }
  };
}

export function connectToHost({ sandboxId, stateDir, hostEnv, clock, assertPresent }: HostConnectionOptions): Connection {
  const pipes = createPipePool(stateDir);
  const inSandbox = whilePresent(assertPresent);
  return {
    stateDir,
    files: createHostFiles(stateDir, inSandbox),
    async spawn(argv, options) {
      const [name = "", ...args] = argv;
      const call = randomId();
      return inSandbox(async () =>
        spawnHostProcess({
          ...options,
          program: findProgram(name, hostEnv.PATH ?? ""),
          args,
          env: { ...(options.env ?? hostEnv), ...processMarks(sandboxId, call) },
          cwd: options.cwd ?? "/",
          pipes,
          clock,
          mark: { variable: CALL_VARIABLE, value: call },
        }),
      );
    },
    [Symbol.asyncDispose]: () => pipes.close(),
  };
}

/** Names are looked up on the sandbox's own path, not on that of a call's environment, which may be empty. */
export function findProgram(name: string, path: string): string {
  if (name.includes("/")) return name;
  for (const directory of path.split(delimiter)) {
    const candidate = join(directory, name);
    if (isAbsolute(directory) && isExecutable(candidate)) return candidate;
  }
  throw new HoldfastError("spawn-failed", `${name} is not on the PATH of the sandbox`, { facts: { name, path } });
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Whatever the reason, the next directory may hold one that works.
    return false;
  }
}
