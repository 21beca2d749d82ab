import { readFile } from "node:fs/promises";
import { expect, test, vi } from "vitest";
import { failureOf } from "../../../../test/helpers/failure-of.ts";
import { createManualClock } from "../../../../test/helpers/manual-clock.ts";
import { systemClock } from "../../../base/clock.ts";
import { createEngine, describeCommand } from "./engine.ts";

const LIMIT_MS = 60_000;
const env = { PATH: "/usr/bin:/bin", BASE: "base" };
const shell = createEngine("/bin/sh", { env, clock: systemClock });
const waitLong = { timeout: 60_000, interval: 20 };

const isAlive = async (pid: string) =>
  !/^\d+ \(.*\) [ZX]/s.test(
    await readFile(`/proc/${pid}/stat`, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT" && error.code !== "ESRCH") throw error;
      return "0 () X";
    }),
  );

test("a client that fails is a result, with both streams and its code", async () => {
  expect(await shell.run(["-c", "echo out; echo err >&2; exit 3"], { limitMs: LIMIT_MS })).toEqual({
    code: 3,
    stdout: "out\n",
    stderr: "err\n",
  });
  expect((await shell.run(["-c", "kill -TERM $$"], { limitMs: LIMIT_MS })).code).toBe(143);
});

test("S10 variables reach the client on top of its own, and nothing else does", async () => {
  vi.stubEnv("HOLDFAST_TEST_SECRET", "secret");
  const { stdout } = await shell.run(["-c", "env"], { limitMs: LIMIT_MS, env: { ADDED: "a\nb" } });
  vi.unstubAllEnvs();
  expect(stdout).toMatch(/^BASE=base$/m);
  expect(stdout).toMatch(/^ADDED=a\nb$/m);
  expect(stdout).not.toContain("HOLDFAST_TEST_SECRET");
});

test("when the limit is up the client and its helpers are killed", async () => {
  const clock = createManualClock();
  const pids: string[] = [];
  const failure = failureOf(
    createEngine("/bin/sh", { env, clock }).run(["-c", "trap '' TERM; sleep 1000 & echo $$; echo $!; wait"], {
      limitMs: 5_000,
      onLine: (line) => pids.push(line),
    }),
  );
  await vi.waitFor(() => expect(pids).toHaveLength(2), waitLong);
  await clock.advance(5_000);
  expect(await failure).toMatchObject({ code: "operation-timeout", message: expect.stringContaining("`/bin/sh` did not end within 5 s") });
  for (const pid of pids) await vi.waitFor(async () => expect(await isAlive(pid)).toBe(false), waitLong);
  expect(clock.pending).toBe(0);
});

test("aborting kills the client, or does not start it at all", async () => {
  const controller = new AbortController();
  const pids: string[] = [];
  const failure = failureOf(
    shell.run(["-c", "echo $$; exec sleep 1000"], {
      limitMs: LIMIT_MS,
      signal: controller.signal,
      onLine: (line) => {
        pids.push(line);
        controller.abort();
      },
    }),
  );
  expect(await failure).toMatchObject({ code: "aborted" });
  await vi.waitFor(async () => expect(await isAlive(pids[0] ?? "")).toBe(false), waitLong);
  expect(await failureOf(shell.run(["-c", "exit"], { limitMs: LIMIT_MS, signal: AbortSignal.abort() }))).toMatchObject({ code: "aborted" });
});

test("a client that writes without end is stopped", async () => {
  expect(await failureOf(shell.run(["-c", "yes; echo >&2"], { limitMs: LIMIT_MS }))).toMatchObject({
    code: "backend-broken",
    message: expect.stringContaining("bytes"),
  });
});

test("a helper that holds the output open does not hold up the result", async () => {
  const clock = createManualClock();
  const run = createEngine("/bin/sh", { env, clock }).run(["-c", "setsid sleep 1000 & echo $!"], { limitMs: LIMIT_MS });
  await vi.waitFor(() => expect(clock.pending).toBe(2), waitLong);
  await clock.advance(2_000);
  const { code, stdout } = await run;
  process.kill(Number(stdout), "SIGKILL");
  expect(code).toBe(0);
});

test("S13 lines of progress are handed on as they come, from both streams", async () => {
  const lines: string[] = [];
  const script = "printf 'a\\rb\\r\\n\\n\\303'; printf '\\274c\\n'; echo d >&2; printf last";
  const { stdout } = await shell.run(["-c", script], { limitMs: LIMIT_MS, onLine: (line) => lines.push(line) });
  expect(lines.filter((line) => line !== "d")).toEqual(["a", "b", "üc", "last"]);
  expect(lines).toContain("d");
  expect(stdout).toBe("a\rb\r\n\nüc\nlast");
});

test("a listener that throws ends the client with its error", async () => {
  const failure = new Error("listener");
  const onLine = () => {
    throw failure;
  };
  expect(await failureOf(shell.run(["-c", "echo x; sleep 1000"], { limitMs: LIMIT_MS, onLine }))).toBe(failure);
});

test("a program that is not there is an error", async () => {
  const gone = createEngine("/nowhere/docker", { env, clock: systemClock });
  expect(await failureOf(gone.run(["ps"], { limitMs: LIMIT_MS }))).toMatchObject({
    code: "backend-broken",
    facts: { command: "/nowhere/docker ps", systemCode: "ENOENT" },
  });
});

test("S10 a NUL byte is refused without showing the value it is in", async () => {
  const failure = await failureOf(shell.run(["-c", "true"], { limitMs: LIMIT_MS, env: { TOKEN: "hunter2\0" } }));
  expect(failure).toMatchObject({ code: "invalid-input", message: expect.stringContaining("TOKEN") });
  expect(JSON.stringify(failure)).not.toContain("hunter2");
  expect(await failureOf(shell.run(["-c", "\0"], { limitMs: LIMIT_MS }))).toMatchObject({ code: "invalid-input" });
});

test("S10 errors name a command by its words alone", () => {
  expect(describeCommand("/usr/bin/docker", ["container", "inspect", "x"])).toBe("/usr/bin/docker container inspect x");
  expect(describeCommand("/usr/bin/docker", ["run", "-e", "TOKEN=x", "image"])).toBe("/usr/bin/docker run");
});
