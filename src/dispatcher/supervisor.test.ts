import { describe, expect, test } from "vitest";
import { createManualClock } from "../../test/helpers/manual-clock.ts";
import { HoldfastError } from "../base/errors.ts";
import { createLogger } from "../base/log.ts";
import type { WorkerExit } from "../board/exit.ts";
import type { WorkerStatus } from "./host-worker.ts";
import type { Job } from "./job.ts";
import { type SupervisorStore, supervise } from "./supervisor.ts";

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
  workspace: "/workspace",
  env: {},
  log: { path: "/log", rotateBytes: 1024, backups: 1 },
  maxRuntimeMs: null,
  graceMs: 1000,
  ttlMs: TTL_MS,
};

const never = () => new Promise<never>(() => {});
const unavailable = async (): Promise<never> => {
  throw new HoldfastError("board-unavailable", "the database is gone");
};

/** A worker that only ends when it is ended, and a database that renews its claim as `heartbeat` says. */
async function superviseWith(heartbeat: () => Promise<never>, overrides: Partial<SupervisorStore> = {}) {
  const clock = createManualClock();
  const exits: WorkerExit[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<WorkerStatus>();
  const store: SupervisorStore = {
    heartbeat,
    runs: async () => [],
    recordProcess: async () => {},
    recordExit: async (_, exit) => {
      exits.push(exit);
      return true;
    },
    ...overrides,
  };
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
