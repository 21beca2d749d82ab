/** @module Cases: calls that time out, are interrupted, or are cancelled before they began. */
import { readdir } from "node:fs/promises";
import { expect } from "vitest";
import { alive } from "../../helpers/collect.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import type { Cases } from "./kit.ts";
import { PATIENCE_MS } from "./shell.ts";

const LIMIT_MS = 5_000;

export const endingCases: Cases = {
  "S33 a timeout ends the call with 124 and keeps what it printed and changed": async ({ shell }) => {
    const clock = createManualClock();
    const { start, text, connection, directory } = await shell({ clock });
    const call = start("mkdir sub; cd sub; export A=1; echo out; echo err >&2; sleep 1000 & echo pid $!; wait", { timeoutMs: LIMIT_MS });
    const said = await call.untilPrinted("pid ");
    await clock.advance(LIMIT_MS);
    const result = await call.result;
    expect(result).toMatchObject({ exitCode: 124, timedOut: true, interrupted: false, signal: "SIGTERM", cwd: `${directory}/sub` });
    expect([result.stderr, result.stdout.startsWith("out\npid ")]).toEqual(["err\n", true]);
    expect(await alive(connection, said.match(/\d+/g) ?? ["none"])).toEqual([]);
    expect(await text("pwd; echo $A")).toBe(`${directory}/sub\n1`);
  },

  "S33 the default timeout holds where a call has none": async ({ shell }) => {
    const clock = createManualClock();
    const { start } = await shell({ clock });
    const call = start("echo begun; sleep 1000");
    await call.untilPrinted("begun");
    // What is printed may be heard before the limit is set.
    await clock.untilPending(1);
    await clock.advance(PATIENCE_MS);
    expect(await call.result).toMatchObject({ exitCode: 124, timedOut: true });
  },

  "S33 a timeout in real time": async ({ shell }) => {
    const { run } = await shell();
    expect(await run("sleep 1000", { timeoutMs: 50 })).toMatchObject({ exitCode: 124, timedOut: true });
  },

  "S33 a timeout or an interrupt in the first moments of a call is a result, not a failure": async ({ shell }) => {
    const { run, text } = await shell();
    await run("export A=1");
    const timeouts = await Promise.all([1, 1, 2, 3, 5, 8, 12].map((timeoutMs) => run("sleep 1000", { timeoutMs })));
    expect(timeouts.map(({ exitCode, timedOut }) => [exitCode, timedOut])).toEqual(timeouts.map(() => [124, true]));
    expect(await text("echo $A")).toBe("1");
  },

  "S33 a timeout ends trees that hide, hold on or stand still": async ({ shell }) => {
    const clock = createManualClock();
    const { start, text, connection } = await shell({ clock });
    const script = `(setsid nohup bash -c 'echo pid $$; exec sleep 1000' &)
bash -c 'trap "" TERM HUP INT; echo pid $$; while :; do sleep 1000; done' &
env -i sleep 1000 & echo pid $!
sleep 1000 & kill -STOP $!; echo pid $!
wait`;
    const call = start(script, { timeoutMs: LIMIT_MS });
    const said = await call.untilPrinted(/(pid \d+\n){4}/);
    await clock.advance(LIMIT_MS);
    expect(await call.result).toMatchObject({ exitCode: 124, timedOut: true, interrupted: false });
    const pids = said.match(/\d+/g) ?? [];
    expect(pids).toHaveLength(4);
    expect(await alive(connection, pids)).toEqual([]);
    expect(await text("echo lives on")).toBe("lives on");
  },

  "S33 a shell that stands still is woken up to end, and saves its state": async ({ shell }) => {
    const clock = createManualClock();
    const { start, text } = await shell({ clock });
    // One that stopped only after it had been woken up would not be woken up again.
    const watch = "until grep -q '^State:.T' /proc/$$/status; do sleep 0.01; done; echo stopped";
    const call = start(`export A=1; (${watch}) & kill -STOP $$; echo unreached`, { timeoutMs: LIMIT_MS });
    await call.untilPrinted("stopped");
    await clock.advance(LIMIT_MS);
    expect(await call.result).toMatchObject({ exitCode: 124, timedOut: true, signal: "SIGTERM", stdout: "stopped\n" });
    expect(await text("echo $A")).toBe("1");
  },

  "S33 output that never ends stops at the timeout, and memory holds only its ends": async ({ shell }) => {
    const clock = createManualClock();
    const { start } = await shell({ clock, keepChars: 1000, spillBytes: 0 });
    let seen = 0;
    const enough = Promise.withResolvers<void>();
    const call = start("yes", {
      timeoutMs: LIMIT_MS,
      onOutput(chunk) {
        seen += chunk.length;
        if (seen > 5_000_000) enough.resolve();
      },
    });
    await enough.promise;
    await clock.advance(LIMIT_MS);
    const result = await call.result;
    expect(result).toMatchObject({ exitCode: 124, timedOut: true, truncated: true });
    expect(result.outputBytes).toBe(seen);
    expect(result.output.length).toBeLessThan(1200);
  },

  "S33 an interrupt ends the call with 130 and keeps what it printed and changed": async ({ shell }) => {
    const { start, text, connection } = await shell();
    const cancel = new AbortController();
    const call = start("export A=1; echo out; sleep 1000 & echo pid $!; wait", { signal: cancel.signal });
    const said = await call.untilPrinted("pid ");
    cancel.abort();
    const result = await call.result;
    expect(result).toMatchObject({ exitCode: 130, interrupted: true, timedOut: false });
    expect(result.stdout).toMatch(/^out\npid \d+\n$/);
    expect(await alive(connection, said.match(/\d+/g) ?? ["none"])).toEqual([]);
    expect(await text("echo $A")).toBe("1");
  },

  "S33 the first reason counts, and later ones change nothing": async ({ shell }) => {
    const clock = createManualClock();
    const { start } = await shell({ clock });
    const cancel = new AbortController();
    const call = start("trap 'sleep 0.2; exit 9' TERM; echo begun; while :; do sleep 0.01; done", {
      signal: cancel.signal,
      timeoutMs: LIMIT_MS,
    });
    await call.untilPrinted("begun");
    cancel.abort();
    await clock.advance(LIMIT_MS);
    expect(await call.result).toMatchObject({ exitCode: 130, interrupted: true, timedOut: false, signal: null });
  },

  "a call that was cancelled before does not run": async ({ shell }) => {
    const { run, text } = await shell();
    await run("export A=1");
    await expect(run("export A=2", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "aborted" });
    expect(await text("echo $A")).toBe("1");
  },

  "a call that is cancelled while its shell starts is interrupted": async ({ shell }) => {
    const { run } = await shell();
    const cancel = new AbortController();
    const result = await run("sleep 1000", { signal: cancel.signal, onStart: () => cancel.abort() });
    expect(result).toMatchObject({ exitCode: 130, interrupted: true });
  },

  "cancelling after the end changes nothing": async ({ shell }) => {
    const { run, text } = await shell();
    const cancel = new AbortController();
    const result = await run("sleep 1000 >/dev/null 2>&1 & echo $!", { signal: cancel.signal });
    cancel.abort();
    expect(await text(`kill -0 ${result.stdout.trim()} && echo alive; kill ${result.stdout.trim()}`)).toBe("alive");
  },

  "a taker of output that fails ends the call and everything in it": async ({ shell }) => {
    const { run, text, connection, spillDirectory } = await shell({ keepChars: 1000 });
    const onOutput = () => {
      throw new Error("nobody listens");
    };
    await expect(run("echo $$ >pid; yes", { onOutput })).rejects.toThrow("nobody listens");
    const rejected = run("echo $$ >pid; yes", { onOutput: () => Promise.reject(new Error("nobody listens")) });
    await expect(rejected).rejects.toThrow("nobody listens");
    expect(await alive(connection, [await text("cat pid")])).toEqual([]);
    expect(await readdir(spillDirectory)).toEqual([]);
  },

  "the end of a call leaves its background processes running": async ({ shell }) => {
    const { text, connection } = await shell();
    const pids = (await text("sleep 1000 >/dev/null 2>&1 & echo $!; nohup sleep 1000 >/dev/null 2>&1 & echo $!")).split("\n");
    expect(await alive(connection, pids)).toEqual(pids);
    await text(`kill ${pids.join(" ")}`);
  },
};
