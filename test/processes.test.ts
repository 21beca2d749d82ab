import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DaemonLink } from "../src/sandbox/daemon/link.ts";
import { daemonStatus, setIdleStop } from "../src/sandbox/daemon/status.ts";
import type { LogChunk, ProcessEvent, Processes } from "../src/sandbox/process.ts";
import type { Sandbox } from "../src/sandbox/sandbox.ts";
import { type DaemonSandbox, daemonSandbox } from "./helpers/daemon-sandbox.ts";
import { failureOf } from "./helpers/failure-of.ts";
import { createManualClock } from "./helpers/manual-clock.ts";
import { describeIf } from "./helpers/requirements.ts";

describeIf("cc", "background processes", () => {
  let place: DaemonSandbox;
  let sandbox: Sandbox;
  let processes: Processes;
  let link: DaemonLink;

  beforeAll(async () => {
    place = await daemonSandbox({ build: "debug" });
    const opened = await place.open();
    sandbox = opened.sandbox;
    processes = sandbox.processes;
    if (opened.connection.daemon) link = opened.connection.daemon.link;
  });
  afterAll(() => place[Symbol.asyncDispose]());

  const textOf = async (id: string, options = {}, from = processes) => {
    const parts: Uint8Array[] = [];
    for await (const { bytes } of from.logs(id, options)) parts.push(bytes);
    return Buffer.concat(parts).toString();
  };
  /** Reads on until the text has come. */
  const untilPrinted = async (id: string, text: string, from = processes) => {
    let seen = "";
    for await (const { bytes } of from.logs(id, { follow: true })) {
      seen += Buffer.from(bytes).toString();
      if (seen.includes(text)) return seen;
    }
    throw new Error(`the process ended with ${JSON.stringify(seen)}`);
  };

  test("S36 one is started, listed, waited for, and its exit code and output stay", async () => {
    const started = await processes.start("echo out; echo err >&2; exit 7", { name: "short" });
    expect(started).toMatchObject({ name: "short", command: "echo out; echo err >&2; exit 7", tty: false, inputOpen: false });
    expect(started.id).toMatch(/^p_[0-9a-f]{8}$/);
    expect(await processes.wait(started.id)).toEqual({ exitCode: 7, signal: null });
    const ended = await processes.get(started.id);
    expect(ended).toMatchObject({ state: "ended", exitCode: 7, signal: null, outputBytes: 8, pid: started.pid });
    expect(ended.endedAt).toBeGreaterThanOrEqual(ended.startedAt);
    expect(await processes.list()).toContainEqual(ended);
    expect(await textOf(started.id)).toBe("out\nerr\n");
    await processes.remove(started.id);
    expect(await failureOf(processes.get(started.id))).toMatchObject({ code: "process-not-found" });
  });

  test("S36 it begins with the session's state, and with variables and a directory of its own, and saves nothing", async () => {
    await mkdir(join(place.directory, "inner"), { recursive: true });
    await sandbox.run("export KEPT=1; hello() { echo hello $1; }", { session: "state" });
    const options = { session: "state", cwd: "inner", env: { OWN: "a b" } };
    const { id } = await processes.start('hello "$KEPT"; echo "$OWN"; pwd; export KEPT=2; env | grep -c HOLDFAST_ENV_', options);
    await processes.wait(id);
    expect(await textOf(id)).toBe(`hello 1\na b\n${await realpath(join(place.directory, "inner"))}\n0\n`);
    expect(await sandbox.run('echo "$KEPT"; pwd', { session: "state" })).toMatchObject({ stdout: `1\n${place.directory}\n` });
  });

  test("an argument list is run as it is, and a command that is too long for one argument too", async () => {
    const { id } = await processes.start(["printf", "%s", "a b;$c"]);
    await processes.wait(id);
    expect(await textOf(id)).toBe("a b;$c");
    const long = await processes.start(`echo ${"x".repeat(200_000)} | wc -c`);
    expect(long.command.length).toBe(4_096);
    await processes.wait(long.id);
    expect(await textOf(long.id)).toBe("200001\n");
  });

  test("mistakes are told before anything is started", async () => {
    const before = await processes.list();
    const refused = async (work: Promise<unknown>, error: object) => expect(await failureOf(work)).toMatchObject(error);
    await refused(processes.start(""), { code: "invalid-command" });
    await refused(processes.start("true", { cwd: "absent" }), { code: "cwd-invalid" });
    await sandbox.run("declare -rx FIXED=1", { session: "fixed" });
    await refused(processes.start("true", { session: "fixed", env: { FIXED: "2" } }), { code: "invalid-input" });
    await refused(processes.start("true", { name: "x".repeat(257) }), { code: "invalid-input" });
    await refused(processes.start("true", { keepBytes: 4_095 }), { code: "invalid-input" });
    await refused(processes.start("true", { keepBytes: 1.5 }), { code: "invalid-input" });
    await refused(processes.start("true", { tty: { rows: 0, columns: 80 } }), { code: "invalid-input" });
    await refused(processes.signal("p_00000000", "SIGNOTHING"), { code: "invalid-input" });
    expect(await processes.list()).toEqual(before);
  });

  test("an id that is not known, or could not be one, is not found", async () => {
    for (const id of ["p_00000000", "p_0000000", "../x", "", "p_00000000\0"]) {
      const tries: Promise<unknown>[] = [
        processes.get(id),
        textOf(id),
        textOf(id, { from: -1 }),
        processes.wait(id),
        processes.kill(id),
        processes.signal(id, "SIGTERM"),
        processes.write(id, "x"),
        processes.attach(id, { onOutput() {} }),
        processes.remove(id),
        (async () => {
          for await (const _ of processes.watch(id, { patterns: ["x"] }));
        })(),
      ];
      for (const failure of await Promise.all(tries.map(failureOf))) expect(failure).toMatchObject({ code: "process-not-found" });
    }
  });

  test("S36 output is read from any byte, and from the end", async () => {
    const { id } = await processes.start("printf 0123456789");
    await processes.wait(id);
    expect(await textOf(id, { from: 4 })).toBe("456789");
    expect(await textOf(id, { from: -3 })).toBe("789");
    expect(await textOf(id, { from: -30 })).toBe("0123456789");
    expect(await textOf(id, { from: 30, follow: true })).toBe("");
    const chunks: LogChunk[] = [];
    for await (const chunk of processes.logs(id, { from: 7 })) chunks.push(chunk);
    expect(chunks.map(({ offset }) => offset)).toEqual([7]);
    expect(await failureOf(textOf(id, { from: 0.5 }))).toMatchObject({ code: "invalid-input" });
  });

  test("S36 following goes on until the end, and breaking off or giving up lets go of it", async () => {
    const { id } = await processes.start("echo one; read -r line; echo two $line", { stdin: true });
    expect(await untilPrinted(id, "one\n")).toBe("one\n");
    const giveUp = new AbortController();
    const waiting = failureOf(textOf(id, { follow: true, from: 4, signal: giveUp.signal }));
    const other = failureOf(processes.wait(id, { signal: giveUp.signal }));
    giveUp.abort();
    expect(await waiting).toMatchObject({ code: "aborted" });
    expect(await other).toMatchObject({ code: "aborted" });
    const following = textOf(id, { follow: true });
    await processes.write(id, "x\n");
    expect(await following).toBe("one\ntwo x\n");
  });

  test("a reader that takes nothing holds nobody back, and misses nothing", async () => {
    const { id } = await processes.start("head -c 8000000 /dev/zero | tr '\\0' x");
    const reader = processes.logs(id, { follow: true })[Symbol.asyncIterator]();
    const first = await reader.next();
    expect(await processes.wait(id)).toMatchObject({ exitCode: 0 });
    let total = first.value?.bytes.length ?? 0;
    for (let step = await reader.next(); !step.done; step = await reader.next()) {
      expect(step.value.offset).toBe(total);
      total += step.value.bytes.length;
    }
    expect(total).toBe(8_000_000);
  });

  test("of an output that is longer than what is kept, the end is there, at its true offset", async () => {
    const { id } = await processes.start("seq 1 20000", { keepBytes: 8_192 });
    await processes.wait(id);
    const { outputBytes } = await processes.get(id);
    const chunks: LogChunk[] = [];
    for await (const chunk of processes.logs(id)) chunks.push(chunk);
    const [first] = chunks;
    const kept = Buffer.concat(chunks.map(({ bytes }) => bytes));
    expect(first?.offset).toBe(outputBytes - kept.length);
    expect(kept.length).toBeLessThanOrEqual(8_192);
    expect(kept.toString().endsWith("\n19999\n20000\n")).toBe(true);
  });

  test("S36 signals, input, and the end of the whole tree", async () => {
    const { id, inputOpen } = await processes.start(
      "trap 'echo got usr1' USR1; echo ready; cat; sleep 1000 & echo end; while :; do wait; done",
      {
        stdin: true,
      },
    );
    expect(inputOpen).toBe(true);
    await untilPrinted(id, "ready\n");
    await processes.write(id, "typed\n");
    await untilPrinted(id, "typed\n");
    expect(await failureOf(processes.remove(id))).toMatchObject({ code: "busy", hint: `end it first: holdfast process kill ${id}` });
    await processes.write(id, "x".repeat(200_000), { end: true });
    await untilPrinted(id, "end\n");
    expect(await failureOf(processes.write(id, "more"))).toMatchObject({ code: "process-input-closed" });
    await processes.signal(id, "SIGUSR1");
    await untilPrinted(id, "got usr1\n");
    await processes.kill(id, { graceMs: 10_000 });
    expect(await processes.get(id)).toMatchObject({ state: "ended", signal: "SIGTERM", exitCode: 143 });
    await processes.kill(id);
    expect(await failureOf(processes.signal(id, "SIGTERM"))).toMatchObject({ code: "process-ended" });
    expect(await failureOf(processes.write(id, "more"))).toMatchObject({ code: "process-ended" });
  });

  test("S37 an attachment reaches a pty: input, size, signals; and letting go leaves the process", async () => {
    const tty = { rows: 30, columns: 100 };
    const { id } = await processes.start(
      "trap 'stty size' WINCH; stty size; echo ready; while :; do read -r line && echo \"<$line>\"; done",
      { tty },
    );
    await untilPrinted(id, "30 100\r\nready\r\n");
    let seen = "";
    let look = () => {};
    const until = (text: string) =>
      new Promise<void>((resolve) => {
        look = () => seen.includes(text) && resolve();
        look();
      });
    const line = await processes.attach(id, {
      size: { rows: 40, columns: 120 },
      onOutput(chunk) {
        seen += Buffer.from(chunk).toString();
        look();
      },
    });
    line.input.write("hello\r");
    await until("<hello>");
    await until("40 120");
    line.resize({ rows: 50, columns: 130 });
    line.input.write("\r");
    await until("50 130");
    line.detach();
    expect(await line.ended).toBe(null);
    expect(await processes.get(id)).toMatchObject({ state: "running", tty: true });

    const again = await processes.attach(id, { onOutput() {} });
    again.signal("SIGHUP");
    expect(await again.ended).toEqual({ exitCode: 129, signal: "SIGHUP" });
  });

  test("an attachment whose taker fails lets go, and one to a process without input says so", async () => {
    const { id } = await processes.start("while echo x; do sleep 0.01; done");
    const failing = await processes.attach(id, {
      onOutput() {
        throw new Error("no more");
      },
    });
    expect(await failureOf(failing.ended)).toMatchObject({ message: "no more" });
    const line = await processes.attach(id, { onOutput() {} });
    const error = new Promise((resolve) => line.input.write("x", resolve));
    expect(await error).toMatchObject({ code: expect.stringMatching(/process-input-closed|ERR_STREAM_DESTROYED/) });
    expect(line.input.errored).toMatchObject({ code: "process-input-closed" });
    await processes.kill(id, { graceMs: 0 });
    expect(await line.ended).toMatchObject({ signal: expect.stringMatching(/^SIG(TERM|KILL)$/) });
  });

  test("S36 lines that match are told, no more of them than the limit, and then the end", async () => {
    const { sandbox: watched } = await place.open({ clock: createManualClock() });
    const script = 'while read -r line; do printf "%s\\n" "$line"; done; printf "last error"; exit 3';
    const { id } = await processes.start(script, { stdin: true });
    const options = { patterns: ["error", /^warn(ing)?:/g], maxMatches: 2, from: 0 };
    const events = watched.processes.watch(id, options)[Symbol.asyncIterator]();
    const next = async () => (await events.next()).value as ProcessEvent;
    await processes.write(id, "fine\nan error\nwarn: 1\nwarning: 2\n");
    expect(await next()).toEqual({ kind: "match", line: "an error", pattern: "error", offset: 5, suppressed: 0 });
    expect(await next()).toMatchObject({ line: "warn: 1", pattern: "/^warn(ing)?:/g", suppressed: 0 });
    await processes.write(id, "", { end: true });
    expect(await next()).toEqual({ kind: "ended", status: { exitCode: 3, signal: null }, suppressed: 2 });
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  test("watching begins at the current end, and refuses what it cannot use", async () => {
    const { id } = await processes.start("echo error 1; read -r; echo error 2", { stdin: true });
    await untilPrinted(id, "error 1\n");
    const events: ProcessEvent[] = [];
    const watching = (async () => {
      for await (const event of processes.watch(id, { patterns: [/error/] })) events.push(event);
    })();
    // The second line cannot be missed: wherever the watch begins, it comes later.
    await daemonStatus(link);
    await processes.write(id, "\n");
    await watching;
    expect(events.at(-1)).toMatchObject({ kind: "ended" });
    const lines = events.map((event) => (event.kind === "match" ? event.line : ""));
    expect(lines).toEqual(["error 2", ""]);
    for (const bad of [{ patterns: [] }, { patterns: ["x"], maxMatches: 0 }, { patterns: ["x"], periodMs: -1 }]) {
      const watch = processes.watch(id, bad)[Symbol.asyncIterator]();
      expect(await failureOf(watch.next())).toMatchObject({ code: "invalid-input" });
    }
  });

  test("S36 all of it works from another connection, also after the first one is gone", async () => {
    const first = await place.open();
    const { id } = await first.sandbox.processes.start("echo begun; while read -r line; do echo got $line; done; exit 5", {
      stdin: true,
      name: "server",
    });
    const cut = failureOf(first.sandbox.processes.wait(id));
    first.connection.daemon?.link.abandon("the test cuts the line");
    expect(await cut).toMatchObject({ code: "sandbox-lost" });

    const second = (await place.open()).sandbox.processes;
    expect(await second.list()).toContainEqual(expect.objectContaining({ id, name: "server", state: "running" }));
    await second.write(id, "word\n");
    expect(await untilPrinted(id, "got word\n", second)).toBe("begun\ngot word\n");
    await second.write(id, "", { end: true });
    expect(await second.wait(id)).toEqual({ exitCode: 5, signal: null });
    expect(await failureOf(first.sandbox.processes.get(id))).toMatchObject({ code: "sandbox-lost", facts: { mayHaveRun: false } });
  });

  test("S36 up to 64 run; then a clear refusal, and an ended one makes room", async () => {
    for (const { id, state } of await processes.list()) if (state === "running") await processes.kill(id, { graceMs: 0 });
    const { id: starter } = await processes.start("sleep 1000");
    await Promise.all(Array.from({ length: 63 }, () => processes.start("sleep 1000")));
    expect(await failureOf(processes.start("sleep 1000"))).toMatchObject({
      code: "process-limit",
      message: "the process was not started, because 64 are running already",
    });
    const status = await daemonStatus(link);
    expect(status).toMatchObject({ processes: 64, calls: 0, idleMs: 0, idleStopSeconds: 0, ptys: 0 });
    expect(status.lastUsedFor).toMatch(/^process sleep 1000 \(holdfast \d+\)$/);
    expect(status.leases.length).toBeGreaterThan(0);
    await processes.kill(starter, { graceMs: 0 });
    const { id } = await processes.start("true");
    expect(await processes.wait(id)).toMatchObject({ exitCode: 0 });
    expect(await failureOf(processes.get(starter))).toMatchObject({ code: "process-not-found" });
    await setIdleStop(link, 3_600);
    expect(await daemonStatus(link)).toMatchObject({ idleStopSeconds: 3_600 });
    await Promise.all((await processes.list()).map((process) => processes.kill(process.id, { graceMs: 0 })));
  });

  test("without a daemon every method says so", async () => {
    await using bare = await daemonSandbox({ build: null });
    const { processes: none } = (await bare.open()).sandbox;
    const id = "p_00000000";
    const tries: Promise<unknown>[] = [
      none.start("true"),
      none.list(),
      none.get(id),
      textOf(id, {}, none),
      none
        .watch(id, { patterns: ["x"] })
        [Symbol.asyncIterator]()
        .next(),
      none.wait(id),
      none.kill(id),
      none.signal(id, "SIGTERM"),
      none.write(id, ""),
      none.attach(id, { onOutput() {} }),
      none.remove(id),
    ];
    for (const failure of await Promise.all(tries.map(failureOf))) expect(failure).toMatchObject({ code: "daemon-missing" });
  });
});
