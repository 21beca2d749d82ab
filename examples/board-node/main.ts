/** @module A program that puts three linked tasks on a board and waits for them; the worker is a Node script that uses the library, too. */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Board, openHoldfast } from "holdfast";

const PROGRAM = join(import.meta.dirname, "../../dist/holdfast.js");
const WORKER = join(import.meta.dirname, "workers/sum.ts");

// A home of its own, so that the example touches nothing of yours.
const scratch = await mkdtemp(join(tmpdir(), "holdfast-example-"));
const environment = { ...process.env, HOLDFAST_HOME: join(scratch, "home") };
const holdfast = (...words: string[]) => execFileSync(process.execPath, [PROGRAM, ...words], { env: environment, encoding: "utf8" });

let dispatcher: ChildProcess | undefined;
try {
  holdfast("profile", "create", "adder");
  holdfast("-p", "adder", "config", "set", "worker.command", JSON.stringify([process.execPath, WORKER]));
  dispatcher = spawn(process.execPath, [PROGRAM, "kanban", "dispatch", "--watch"], { env: environment, stdio: "inherit" });
  await addNumbers();
} finally {
  if (dispatcher?.kill("SIGTERM")) await once(dispatcher, "exit");
  // Also ends what runs in its sandboxes, and removes them.
  holdfast("profile", "delete", "adder", "--confirm", "adder");
  await rm(scratch, { recursive: true });
}

async function addNumbers(): Promise<void> {
  await using opened = await openHoldfast({ environment });
  const board = opened.board();
  const { task: one } = await board.create("Add these", { assignee: "adder", body: "1 2 3" });
  const { task: two } = await board.create("Add those", { assignee: "adder", body: "4 5" });
  const { task: total } = await board.create("Add the sums", { assignee: "adder", parents: [one.id, two.id] });
  await untilEmpty(board);

  const { runs, attachments } = await board.get(total.id);
  assert.deepEqual(
    runs.map(({ outcome, summary, metadata }) => ({ outcome, summary, sum: metadata?.sum })),
    [{ outcome: "completed", summary: "the sum is 15", sum: 15 }],
  );
  const [file] = attachments;
  assert.ok(file);
  assert.equal(await readFile(file.path, "utf8"), "15\n");
  console.log(`${total.title}: ${runs[0]?.summary}`);
}

async function untilEmpty(board: Board): Promise<void> {
  for (;;) {
    const { counts, tasks } = await board.list();
    assert.equal(counts.blocked, 0, tasks.map(({ lastError }) => lastError ?? "").join("\n"));
    if (counts.todo + counts.ready + counts.running === 0) return;
    await pause(200);
  }
}
