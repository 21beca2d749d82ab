/** @module What a driver's own test gives to the contract suite. */
import type { SandboxDriver } from "../../../src/sandbox/driver.ts";

export interface DriverHarness {
  readonly driver: SandboxDriver;
  /** Another driver object over the same backend, as another process would make it. */
  another(): SandboxDriver;
  /** Called after the last case, when every sandbox has been destroyed. */
  cleanup(): Promise<void>;
}

/** `directory` is empty, on this host, and goes away after `cleanup`. */
export type CreateHarness = (directory: string) => Promise<DriverHarness>;

export interface Skip {
  readonly reason: string;
  /** Names of cases. */
  readonly tests: readonly string[];
}

export type Topic =
  | ("ownership" | "life of a sandbox" | "spawn" | "pipes" | "kill")
  | ("sessions" | "variables" | "directories" | "beginnings of calls" | "ends of calls" | "output of calls" | "input of calls")
  | ("bad input" | "modes of the shell" | "habits of agents" | "trouble" | "concurrency" | "full disk");

export interface SandboxDriverSuite {
  readonly name: string;
  readonly createHarness: CreateHarness;
  readonly skip?: readonly Skip[];
  /**
   * Only these: for a variant of a driver whose code is the same for all others. With --soak it is all of them.
   * @default all
   */
  readonly topics?: readonly Topic[];
  /** Not these. With --soak they run too. */
  readonly allBut?: readonly Topic[];
}
