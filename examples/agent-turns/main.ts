/** @module An agent whose turns are separate processes: each one finds the computer as the turn before left it, background process included. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openHoldfast } from "holdfast";

const TASK = "fix-the-build";

/** What a model would answer, turn by turn: commands, and the status that each must have. */
const TURNS: readonly (readonly (readonly [command: string, status: number])[])[] = [
  [
    ["mkdir project && cd project && export STAGE=test", 0],
    ["printf 'grep -q fixed status\\n' > check.sh && echo broken > status", 0],
    // Redirected, because nobody keeps what a background job writes once its call has ended; `box.start` would.
    ["sleep 600 >/dev/null 2>&1 & echo $! > server.pid", 0],
    ["sh check.sh", 1],
  ],
  [
    ['test "$STAGE" = test && kill -0 "$(cat server.pid)"', 0],
    ["echo fixed > status && sh check.sh", 0],
  ],
];

const [, , turn] = process.argv;
if (turn === undefined) await superviseAgent();
else await takeTurn(Number(turn));

/** Starts a process per turn, as a chat gateway might. */
async function superviseAgent(): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), "holdfast-example-"));
  const environment = { ...process.env, HOLDFAST_HOME: join(scratch, "home") };
  try {
    for (const number of TURNS.keys()) {
      const child = spawnSync(process.execPath, [import.meta.filename, String(number)], {
        cwd: scratch,
        env: environment,
        stdio: "inherit",
      });
      assert.equal(child.status, 0, `turn ${number + 1} failed`);
    }
    await lookAround(environment);
  } finally {
    await removeSandboxes(environment);
    await rm(scratch, { recursive: true });
  }
}

async function takeTurn(number: number): Promise<void> {
  await using holdfast = await openHoldfast();
  const box = await holdfast.sandbox(TASK);
  assert.equal(box.origin, number === 0 ? "created" : "found");
  for (const [command, status] of TURNS[number] ?? []) {
    const { exitCode } = await box.run(command);
    console.log(`turn ${number + 1}: status ${exitCode}: ${command}`);
    assert.equal(exitCode, status);
  }
  // Leaves a sandbox alone that persists, as those on the local backend do, and tears down one that does not.
  await holdfast.endTurn(TASK);
}

async function lookAround(environment: NodeJS.ProcessEnv): Promise<void> {
  await using holdfast = await openHoldfast({ environment });
  const { processes } = await holdfast.sandboxes.inspect(TASK);
  assert.deepEqual(
    processes?.map(({ command }) => command),
    ["sleep"],
  );
  await assert.rejects(holdfast.sandboxes.remove(TASK), { code: "busy" });
  console.log("after the last turn: the background process still runs, so the sandbox is not removed without force");
}

/** Also ends what runs in them. */
async function removeSandboxes(environment: NodeJS.ProcessEnv): Promise<void> {
  await using holdfast = await openHoldfast({ environment });
  for (const { task } of await holdfast.sandboxes.list()) await holdfast.sandboxes.remove(task, { force: true });
}
