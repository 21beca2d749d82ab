/** @module What every case of the contract suite works with. All that a case makes through its kit is gone after it. */
import { randomUUID } from "node:crypto";
import type { Connection, Owner, SandboxDriver, SandboxRef } from "../../../src/sandbox/driver.ts";
import type { SandboxSpec } from "../../../src/sandbox/spec.ts";
import { sandboxSpec } from "../../helpers/sandbox-spec.ts";
import { temporaryDirectory } from "../../helpers/temporary-directory.ts";
import type { CreateHarness, DriverHarness } from "./harness.ts";
import { createShell, type Shell, type ShellOptions } from "./shell.ts";

export interface Kit {
  readonly driver: SandboxDriver;
  /** The harness's directory on the host. */
  readonly directory: string;
  /** A driver as far from the first as this backend allows: of another process if sandboxes persist, else the same one. */
  another(): SandboxDriver;
  /** A second driver object in any case. */
  stranger(): SandboxDriver;
  /** Nobody else's: every case has an install of its own. */
  owner(changes?: Partial<Owner>): Owner;
  create(owner?: Owner, changes?: Partial<SandboxSpec>): Promise<SandboxRef>;
  connect(ref: SandboxRef, driver?: SandboxDriver): Promise<Connection>;
  /** The sandbox that cases share, which is quick; they must leave nothing behind in it. */
  shared(): Promise<Connection>;
  /** A session in the shared sandbox, or in `on`. */
  shell(options?: ShellOptions): Promise<Shell>;
  /** A kit over a harness of its own, for cases that change what all sandboxes of a harness have in common. */
  apart(directory?: string): Promise<Kit>;
  onEnd(work: () => Promise<void>): void;
}

export type Case = (kit: Kit) => Promise<void>;
export type Cases = Readonly<Record<string, Case>>;

/** The harness of one suite and the sandbox that its cases share. */
export interface Workbench {
  readonly harness: DriverHarness;
  readonly directory: string;
  readonly createHarness: CreateHarness;
  shared(): Promise<{ ref: SandboxRef; connection: Connection }>;
  close(): Promise<void>;
}

/** Suites of several processes may use one engine at the same time. */
const SUITE = randomUUID().slice(0, 8);

let installs = 0;

export async function openWorkbench(createHarness: CreateHarness, directory: string): Promise<Workbench> {
  const harness = await createHarness(directory);
  const { driver } = harness;
  let shared: Promise<{ ref: SandboxRef; connection: Connection }> | undefined;
  const share = async () => {
    const ref = await driver.create({ install: `shared-${SUITE}-${++installs}`, profile: "default", task: "default" }, sandboxSpec());
    return { ref, connection: await driver.connect(ref) };
  };
  return {
    harness,
    directory,
    createHarness,
    shared() {
      shared ??= share();
      return shared;
    },
    async close() {
      if (shared !== undefined) {
        const { ref, connection } = await shared;
        await connection[Symbol.asyncDispose]();
        await driver.destroy(ref);
      }
      await harness.cleanup();
    },
  };
}

/** Runs one case with a kit of its own and cleans up behind it, whatever happened. */
export async function withKit(workbench: Workbench, work: Case): Promise<void> {
  const endings: (() => Promise<void>)[] = [];
  try {
    await work(createKit(workbench, endings));
  } finally {
    for (const ending of endings.reverse()) await ending();
  }
}

function createKit(workbench: Workbench, endings: (() => Promise<void>)[]): Kit {
  const { harness, directory, createHarness } = workbench;
  const { driver } = harness;
  const install = `case-${SUITE}-${++installs}`;
  const onEnd = (work: () => Promise<void>) => void endings.push(work);
  onEnd(async () => {
    for (const ref of await driver.list({ install })) await driver.destroy(ref);
  });
  const owner = (changes: Partial<Owner> = {}): Owner => ({ install, profile: "default", task: "default", ...changes });
  const another = () => (driver.capabilities.persistsAcrossProcesses ? harness.another() : driver);
  const connect = async (ref: SandboxRef, through = driver) => {
    const connection = await through.connect(ref);
    onEnd(async () => connection[Symbol.asyncDispose]());
    return connection;
  };

  return {
    driver,
    directory,
    another,
    stranger: () => harness.another(),
    owner,
    create: (of = owner(), changes = {}) => driver.create(of, sandboxSpec(changes)),
    connect,
    shared: async () => (await workbench.shared()).connection,
    async shell(options = {}) {
      const place = options.on ?? (await workbench.shared());
      return createShell({ ...options, on: place, hostDirectory: directory, reconnect: () => connect(place.ref, another()) });
    },
    async apart(elsewhere) {
      const scratch = elsewhere === undefined ? await temporaryDirectory() : null;
      const bench = await openWorkbench(createHarness, scratch?.path ?? (elsewhere as string));
      const inner: (() => Promise<void>)[] = [];
      onEnd(async () => {
        for (const ending of inner.reverse()) await ending();
        await bench.close();
        await scratch?.[Symbol.asyncDispose]();
      });
      return createKit(bench, inner);
    },
    onEnd,
  };
}
