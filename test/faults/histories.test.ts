import { afterAll, beforeAll, expect, test } from "vitest";
import { POSTGRES_LIMIT_MS, type TestPostgres, testPostgres } from "../helpers/postgres.ts";
import { describeIf } from "../helpers/requirements.ts";
import { soakCount } from "../helpers/soak.ts";
import { type ChaosOptions, runChaos } from "./chaos.ts";

const LIMIT_MS = 300_000;
const HISTORIES = soakCount("histories with faults, SQLite", { check: 16, soak: 200 });
const HISTORIES_POSTGRES = soakCount("histories with faults, PostgreSQL", { check: 6, soak: 40 });

async function expectAllWell(options: Omit<ChaosOptions, "limitMs">): Promise<void> {
  const { seed, counts, ...found } = await runChaos({ ...options, limitMs: LIMIT_MS / 3 });
  console.log(`FAULTS_SEED=${seed}`, counts);
  expect(found, `again with FAULTS_SEED=${seed}`).toEqual({ violations: [], lost: [], faults: [], left: [], doubled: [], shared: [] });
}

test(
  `K18 ${HISTORIES} random histories with kills, pauses, clock jumps and dispatcher restarts: never two live workers, no task lost`,
  {
    timeout: LIMIT_MS,
  },
  () => expectAllWell({ histories: HISTORIES, chaosMs: 120_000 }),
);

describeIf("postgres", "PostgreSQL", () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await testPostgres();
  }, POSTGRES_LIMIT_MS);
  afterAll(() => server?.[Symbol.asyncDispose]());

  test(`K18 ${HISTORIES_POSTGRES} random histories: never two live workers, no task lost`, { timeout: LIMIT_MS }, async () =>
    expectAllWell({ histories: HISTORIES_POSTGRES, chaosMs: 60_000, database: await server.createDatabase() }),
  );
});
