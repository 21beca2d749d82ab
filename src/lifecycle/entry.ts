/** @module What a host process knows about one sandbox that it holds. */
import type { Connection, Owner, SandboxRef } from "../sandbox/driver.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { SandboxSpec } from "../sandbox/spec.ts";
import type { Drift } from "./drift.ts";

/** `released`: only this process's line was closed. `called off`: somebody used the sandbox again before it could go. */
export type TeardownOutcome = "removed" | "released" | "called off";

/** `found`: it was there when this process first looked, with all that is in it. */
export type Origin = "created" | "found";

export interface Entry {
  readonly key: string;
  readonly ref: SandboxRef;
  readonly spec: SandboxSpec;
  readonly origin: Origin;
  readonly drift: Drift | null;
  readonly connection: Connection;
  readonly sandbox: Sandbox;
  /** The sandbox whose place it took without its owner knowing, until somebody is told. */
  replaces: string | null;
  /** Uses under way: calls, and anything else that needs the sandbox to stay. */
  inUse: number;
  /** On the clock that only grows, so that a change of the wall clock makes nothing idle. */
  lastUsedAt: number;
  /** A teardown that waits for the last use to end. */
  deferred: Deferred | null;
  /** It is being removed in spite of what runs in it, so nothing may be repeated elsewhere. */
  forced: boolean;
}

export interface Deferred {
  readonly done: Promise<TeardownOutcome>;
  /** The last use has ended. */
  proceed(): void;
  /** Somebody uses the sandbox again. */
  callOff(): void;
  /** Another teardown does not wait; its outcome is this one's. */
  overtake(outcome: Promise<TeardownOutcome>): void;
}

/** One sandbox per key. */
export function keyOf({ install, profile, task }: Owner): string {
  return JSON.stringify([install, profile, task]);
}
