import { describe, expect, test } from "vitest";
import { createManualClock } from "../../test/helpers/manual-clock.ts";
import { HoldfastError } from "../base/errors.ts";
import { createLogger } from "../base/log.ts";
import type { WorkerExit } from "../board/exit.ts";
import type { WorkerStatus } from "./host-worker.ts";
import type { Job } from "./job.ts";
import { type SupervisorStore, supervise } from "./supervisor.ts";
import type { SandboxAddress } from "./worker.ts";

const TTL_MS = 90_000;
const JOB: Job = {
  run: 1,
  task: "t_00000001",
  board: "default",
  profile: "coder",
  token: "secret",
  database: ":memory:",
  home: "/home",
  mark: "mark",
  command: ["worker"],
  sandbox: "none",
  isolated: false,
  workspace: "/workspace",
  env: {},
  log: { path: "/log", rotateBytes: 1024, backups: 1 },
  maxRuntimeMs: null,
  graceMs: 1000,
  ttlMs: TTL_MS,
};

const ADDRESS: SandboxAddress = {
  ref: {
    driver: "local",
    id: "local-1",
    owner: { install: "i", profile: "coder", task: JOB.task },
    fingerprint: "f",
    state: "running",
    createdAt: 1,
  },
  directory: "/sandboxes",
  access: null,
};

const never = () => new Promise<never>(() => {});
const unavailable = async (): Promise<never> => {
  throw new HoldfastError("board-unavailable", "the database is gone");
};

/** One that keeps what it is told of the end. */
function storeWith(exits: WorkerExit[], overrides: Pick<SupervisorStore, "heartbeat"> & Partial<SupervisorStore>): SupervisorStore {
  return {
    runs: async () => [],
    recordAddress: async () => {},
    recordDrift: async () => {},
    recordProcess: async () => {},
    recordExit: async (_, exit) => {
      exits.push(exit);
      return true;
    },
    ...overrides,
  };
}

/** A worker that only ends when it is ended, and a database that renews its claim as `heartbeat` says. */
async function superviseWith(heartbeat: () => Promise<never>, overrides: Partial<SupervisorStore> = {}) {
  const clock = createManualClock();
  const exits: WorkerExit[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<WorkerStatus>();
  const store = storeWith(exits, { heartbeat, ...overrides });
  void supervise({
    job: JOB,
    start: async () => ({ ended, end: async () => resolve({ code: null, signal: "SIGTERM" }) }),
    store: async () => store,
    output: () => {},
    stop: new AbortController().signal,
    clock,
    log: createLogger({ clock, level: "error", sink: () => {} }),
  });
  // Until it waits for its first answer.
  await clock.advance(0);
  return { clock, exits };
}

describe("a worker in a sandbox", () => {
  /** One that begins once it is recorded where it is going to be. */
  async function superviseRecorded(recordAddress: SupervisorStore["recordAddress"]) {
    const clock = createManualClock();
    const exits: WorkerExit[] = [];
    let begun = false;
    const store = storeWith(exits, { heartbeat: never, recordAddress });
    void supervise({
      job: { ...JOB, sandbox: "task" },
      async start(_, { record }) {
        await record(ADDRESS);
        begun = true;
        return { ended: never(), end: async () => {} };
      },
      store: async () => store,
      output: () => {},
      stop: new AbortController().signal,
      clock,
      log: createLogger({ clock, level: "error", sink: () => {} }),
    });
    await clock.advance(0);
    return { clock, exits, begun: () => begun };
  }

  test("K18 does not begin when its claim was lost before it could be recorded where", async () => {
    const supervised = await superviseRecorded(async () => {
      throw new HoldfastError("claim-lost", "the token is not that of the current run");
    });
    expect(supervised.begun()).toBe(false);
    expect(supervised.exits).toMatchObject([{ reason: "start_failed" }]);
  });

  test("K18 waits for a database that is away, and begins when it is recorded where", async () => {
    const recorded: unknown[] = [];
    let away = true;
    const supervised = await superviseRecorded(async (task, token, address) => {
      if (away) await unavailable();
      recorded.push([task, token, address]);
    });
    await supervised.clock.advance(5000);
    expect([supervised.begun(), recorded]).toEqual([false, []]);
    away = false;
    await supervised.clock.advance(1000);
    expect([supervised.begun(), recorded]).toEqual([true, [[JOB.task, JOB.token, ADDRESS]]]);
  });

  test("K18 gives up when the database stays away, and does not begin", async () => {
    const supervised = await superviseRecorded(unavailable);
    for (let second = 0; second < 70; second += 1) await supervised.clock.advance(1000);
    expect(supervised.begun()).toBe(false);
    expect(supervised.exits).toMatchObject([{ reason: "start_failed" }]);
  });
});

describe("a claim that cannot be renewed", () => {
  test.each([
    ["fails", unavailable],
    ["never answers", never],
  ])("K17 K18 the worker is dead before its claim has run out when the database %s", async (_, heartbeat) => {
    const { clock, exits } = await superviseWith(heartbeat);
    await clock.advance(TTL_MS / 2);
    expect(exits).toEqual([]);
    await clock.advance(TTL_MS / 2 - JOB.graceMs);
    expect(exits).toMatchObject([{ reason: "claim_lost" }]);
  });

  test("K17 a worker whose claim is lost is ended although the database no longer says why", async () => {
    const lost = async () => {
      throw new HoldfastError("claim-lost", "the token is not that of the current run");
    };
    const { clock, exits } = await superviseWith(lost, { runs: never });
    await clock.advance(10_000);
    expect(exits).toMatchObject([{ reason: "claim_lost" }]);
  });
});
