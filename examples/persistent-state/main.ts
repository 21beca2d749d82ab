/** @module Two programs in turn open the same sandbox: the second finds the directory, the variable, the function and the file of the first. */
import assert from "node:assert/strict";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openHoldfast } from "holdfast";

// A home and a directory of its own, so that the example touches nothing of yours. A real program leaves both options out.
const scratch = await realpath(await mkdtemp(join(tmpdir(), "holdfast-example-")));
const options = { environment: { ...process.env, HOLDFAST_HOME: join(scratch, "home") }, cwd: scratch };

try {
  await firstProgram();
  await secondProgram();
  await cleanUp();
} finally {
  await rm(scratch, { recursive: true });
}

async function firstProgram(): Promise<void> {
  await using holdfast = await openHoldfast(options);
  const box = await holdfast.sandbox();
  assert.equal(box.origin, "created");
  const result = await box.run(`
    mkdir project && cd project
    export STAGE=test
    greet() { echo "hello, $1"; }
    echo remember > note
    exit 3`);
  // A command that fails is a result, and what it changed before is kept.
  assert.equal(result.exitCode, 3);
  console.log(`first program: left the session in ${result.cwd}`);
}

async function secondProgram(): Promise<void> {
  await using holdfast = await openHoldfast(options);
  const box = await holdfast.sandbox();
  assert.equal(box.origin, "found");
  const result = await box.run('pwd; echo "$STAGE"; greet you; cat note');
  assert.equal(result.stdout, `${scratch}/project\ntest\nhello, you\nremember\n`);
  console.log(`second program: found\n${result.stdout.trimEnd()}`);

  const other = await box.run('pwd; echo "[$STAGE]"', { session: "other" });
  assert.equal(other.stdout, `${scratch}\n[]\n`);
  console.log("second program: another session of the same sandbox sees none of it");
}

async function cleanUp(): Promise<void> {
  await using holdfast = await openHoldfast(options);
  await holdfast.sandboxes.remove("default");
  assert.deepEqual(await holdfast.sandboxes.list(), []);
}
