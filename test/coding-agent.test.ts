import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { installProgram } from "./helpers/cli.ts";
import { readPages } from "./helpers/markdown.ts";
import { createKanbanApp } from "./helpers/test-app.ts";

const GUIDE = "docs/guides/coding-agents.md";

function wrapper(): string {
  const fences = readPages().find(({ path }) => path === GUIDE)?.fences ?? [];
  return fences.find(({ language }) => language === "bash")?.text ?? expect.fail(`${GUIDE} has no wrapper`);
}

/** Runs the wrapper of the guide as the worker of a new task, with an agent that is a line of shell. */
async function work(agent: string) {
  await using board = await createKanbanApp();
  const { store } = board.kanban;
  const { task } = await store.createTask({ title: "mend the roof", assignee: "default" }, { by: "me" });
  const { token } = await store.claim(task.id, { by: "dispatcher" });
  const bin = join(board.directory, "bin");
  await installProgram(bin);
  const env = {
    PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`,
    HOME: board.directory,
    TMPDIR: board.directory,
    HOLDFAST_HOME: board.home,
    HOLDFAST_TASK: task.id,
    HOLDFAST_RUN_TOKEN: token,
    HOLDFAST_BOARD: task.board,
    AGENT: agent,
  };
  const script = spawn("bash", ["-c", wrapper()], { cwd: board.directory, env, stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise<number | null>((resolve) => script.once("exit", resolve));
  const [output, status] = [await text(script.stdout), await ended];
  const [run] = await store.runs({ task: task.id });
  return { output, status, outcome: run?.outcome, summary: run?.summary, task: await store.getTask(task.id) };
}

test.concurrent("K29 the wrapper for coding agents completes with what the agent answered", async () => {
  const { output, status, outcome, summary } = await work('grep -c "mend the roof" $1; echo it is mended');
  expect({ status, outcome, summary: summary?.trim() }).toEqual({ status: 0, outcome: "completed", summary: "1\nit is mended" });
  expect(output).toContain("it is mended");
}, 60_000);

test.concurrent("K29 the wrapper for coding agents leaves the last word to an agent that had it", async () => {
  const { status, outcome, summary } = await work("holdfast kanban complete --summary 'by myself'; exit 1");
  expect({ status, outcome, summary }).toEqual({ status: 0, outcome: "completed", summary: "by myself" });
}, 60_000);

test.concurrent("K20 the wrapper for coding agents ends with 75 at the limit of a provider, and the run is still open", async () => {
  const { status, outcome } = await work("echo 'Error: rate limit reached'; exit 1");
  expect({ status, outcome }).toEqual({ status: 75, outcome: null });
}, 60_000);

test.concurrent("K29 the wrapper for coding agents blocks with what the agent failed at", async () => {
  const { output, status, task } = await work("echo 'no such model'; exit 4");
  expect({ status, output }).toEqual({ status: 0, output: "no such model\n" });
  expect(task.blocked).toMatchObject({ kind: "capability", reason: "the agent ended with status 4: no such model" });
}, 60_000);
