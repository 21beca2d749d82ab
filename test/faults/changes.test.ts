import { expect, test } from "vitest";
import { privateEngine, testEngine } from "../helpers/engine.ts";
import { testPodman } from "../helpers/podman.ts";
import { describeIf } from "../helpers/requirements.ts";
import { soakCount } from "../helpers/soak.ts";
import { runChanges } from "./changes.ts";

const LIMIT_MS = 1_800_000;
const ROUNDS = soakCount("rounds of changed configurations under workers", { check: 12, soak: 200 });

describeIf(["cc", "mmdebstrap", "dockerd", "podman"], "workers in sandboxes", () => {
  test(`K18 ${ROUNDS} times backend, prefix, engine, sandbox and profile change while supervisors and engines die: never two live workers`, {
    timeout: LIMIT_MS,
  }, async () => {
    const engines = await Promise.all([testEngine(), testPodman()]);
    await using mortal = await privateEngine();
    const { seed, counts, ...found } = await runChanges({ rounds: ROUNDS, engines, mortal });
    console.log(`FAULTS_SEED=${seed}`, counts);
    expect(found, `again with FAULTS_SEED=${seed}`).toEqual({ violations: [], stuck: [], left: [] });
  });
});
