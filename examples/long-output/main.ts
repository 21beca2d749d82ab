/** @module A command that prints far more than fits: the result is bounded and says so, and the rest is in a file. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openHoldfast } from "holdfast";

const LIMIT = 2_000;
const LINES = 200_000;

const scratch = await mkdtemp(join(tmpdir(), "holdfast-example-"));
try {
  await runLongCommand();
} finally {
  await rm(scratch, { recursive: true });
}

async function runLongCommand(): Promise<void> {
  await using holdfast = await openHoldfast({
    environment: { ...process.env, HOLDFAST_HOME: join(scratch, "home") },
    config: { "terminal.output_limit": LIMIT },
    cwd: scratch,
  });
  const box = await holdfast.sandbox();
  let seen = 0;
  const result = await box.run(`seq 1 ${LINES}`, {
    // Sees every byte as it comes; a promise returned here would hold the command back.
    onOutput: (chunk) => {
      seen += chunk.length;
    },
  });

  assert.equal(result.truncated, true);
  assert.equal(seen, result.outputBytes);
  assert.match(result.output, /^1\n2\n3\n/);
  assert.match(result.output, /\n199999\n200000\n$/);
  const marker = /\n(\[… .* …\])\n/.exec(result.output)?.[1] ?? assert.fail("there is no marker");
  assert.equal(result.output.length - marker.length - 2, LIMIT);

  assert.ok(result.outputFile);
  const whole = await readFile(result.outputFile, "utf8");
  assert.equal(whole.trimEnd().split("\n").length, LINES);

  console.log(`${result.outputBytes} bytes were written, ${LIMIT} characters are in the result, with this in the middle:`);
  console.log(marker);
  await holdfast.sandboxes.remove("default");
}
