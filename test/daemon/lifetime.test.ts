import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Duplex, type Readable, type Writable } from "node:stream";
import { expect, test } from "vitest";
import { FROM_CLIENT, FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { debugDaemon, sanitizerOptions, sanitizerReports, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { describeIf, testIf } from "../helpers/requirements.ts";
import { forEachTest } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { createClient } from "./client.ts";
import { readEnded, u32 } from "./frames.ts";
import { alive, childrenOf, eventually, zombiesOf } from "./machine.ts";

const SECRET = "0".repeat(64);

describeIf("cc", "the life of holdfastd", () => {
  const scratch = forEachTest(temporaryDirectory);

  /** Runs it to its end. */
  const run = async (args: readonly string[], cwd = scratch.path) => {
    const options = { cwd, env: { ...process.env, ...sanitizerOptions(scratch.path) } };
    const program = await debugDaemon();
    return new Promise<{ code: number; said: string; output: string }>((resolve) => {
      execFile(program, args, options, (error, output, said) => resolve({ code: Number(error?.code ?? 0), said, output }));
    });
  };
  const startTree = async (daemon: TestDaemon) => {
    const client = await createClient(daemon);
    const call = await client.start("setsid sleep 1000 & echo $$ $! go; wait");
    const pids = [...(await call.until("go")).matchAll(/\d+/g)].map(([pid]) => Number(pid));
    const { pid } = await client.process("sleep 1000");
    return { client, call, pids: [...pids, pid] };
  };

  test("knows its verbs and refuses anything else", async () => {
    expect(await run(["version"])).toEqual({ code: 0, said: "", output: "holdfastd 1 (protocol 1)\n" });
    const wrong = [[], ["nonsense"], ["serve"], ["serve", "--socket"], ["relay"], ["version", "x"]];
    for (const args of wrong) expect(await run(args)).toMatchObject({ code: 2, said: expect.stringMatching(/^usage:/) });
    expect(await run(["relay", "--socket", "/nonexistent/s"])).toMatchObject({ code: 4, said: expect.stringContaining("/nonexistent/s") });
    expect(await run(["relay", "--socket", `/${"x".repeat(150)}`])).toMatchObject({ code: 4 });
  });

  test("closes the door before its own things, each time it starts, and does not start when it cannot", async () => {
    const door = join(scratch.path, "door");
    await mkdir(door);
    for (const mode of [0o755, 0o1777, 0]) {
      await chmod(door, mode);
      await using _daemon = await startDaemon(scratch.path, { args: ["--door", door] });
      expect((await stat(door)).mode & 0o7777).toBe(0o700);
    }
    const serve = ["serve", "--socket", join(scratch.path, "s"), "--state", scratch.path, "--secret-file", join(scratch.path, "secret")];
    expect(await run([...serve, "--door", join(scratch.path, "none")])).toEqual({
      code: 1,
      output: "",
      said: `holdfastd: cannot close ${join(scratch.path, "none")}: No such file or directory\n`,
    });
    expect(existsSync(join(scratch.path, "s"))).toBe(false);
  });

  test("says in one line why it cannot start, also in the background", async () => {
    const [secret, state] = [join(scratch.path, "secret"), join(scratch.path, "state")];
    const serve = async (socket: string, content: string, more: string[]) => {
      await writeFile(secret, content);
      return run(["serve", "--socket", socket, "--state", state, "--secret-file", secret, ...more]);
    };
    await mkdir(join(scratch.path, "directory"));
    await symlink("/etc/passwd", join(scratch.path, "link.lock"));
    const places = ["x".repeat(120), "no/such/s", "directory", "link"].map((name) => [join(scratch.path, name), SECRET] as const);
    for (const more of [[], ["--background"]]) {
      for (const [socket, content] of [
        ...places,
        [join(scratch.path, "s"), "too short"],
        [join(scratch.path, "s"), "g".repeat(64)],
      ] as const) {
        expect(await serve(socket, content, more)).toMatchObject({ code: 1, said: expect.stringMatching(/^holdfastd: [^\n]+\n$/) });
      }
    }
    expect(await sanitizerReports(scratch.path)).toBe("");
  });

  test("a second one on the same socket says so and ends", async () => {
    await using daemon = await startDaemon(scratch.path);
    for (const more of [[], ["--background"]]) {
      const said = `holdfastd: already running on ${daemon.socket} (pid ${daemon.pid})\n`;
      expect(await run([...daemon.command.slice(1), ...more])).toEqual({ code: 3, said, output: "" });
    }
    await using client = await createClient(daemon);
    expect(client.link.pid).toBe(daemon.pid);
    expect((await lstat(daemon.socket)).mode & 0o077).toBe(0);
    expect((await stat(dirname(daemon.socket))).mode & 0o777).toBe(0o700);
  });

  test("goes to the background when it accepts connections, from a relative path and out of its starter's directory", async () => {
    const directory = join(scratch.path, "d".repeat(90), "e".repeat(90));
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, "secret"), SECRET);
    const serve = ["serve", "--socket", "s", "--state", "state", "--secret-file", "secret"];
    expect(await run([...serve, "--background"], directory)).toEqual({ code: 0, said: "", output: "" });
    const pid = Number(await readFile(join(directory, "s.lock"), "utf8"));
    expect(await run(serve, directory)).toMatchObject({ code: 3 });
    expect(await readlink(`/proc/${pid}/cwd`)).toBe("/");
    expect(await Promise.all([0, 1, 2].map((fd) => readlink(`/proc/${pid}/fd/${fd}`)))).toEqual(Array(3).fill("/dev/null"));
    process.kill(pid, "SIGTERM");
    await eventually(() => !alive(pid), "it has ended");
    expect(existsSync(join(directory, "s"))).toBe(false);
    expect(await sanitizerReports(scratch.path)).toBe("");
  });

  test.for(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "%s ends all trees, then the daemon, whose socket tells that something was ended",
    async (signal) => {
      await using daemon = await startDaemon(scratch.path);
      const { call, pids } = await startTree(daemon);
      process.kill(daemon.pid, signal);
      expect(readEnded((await call.finish()).last.payload)).toMatchObject({ cause: 2, signal: 15 });
      expect(await daemon.exited).toBe(0);
      expect([pids.filter(alive), existsSync(daemon.socket)]).toEqual([[], true]);
    },
  );

  test("SIGTERM takes the socket away when nothing ran", async () => {
    await using daemon = await startDaemon(scratch.path);
    await daemon.stop();
    expect(existsSync(daemon.socket)).toBe(false);
  });

  test("STOP ends it with the given grace, and starts nothing more", async () => {
    await using daemon = await startDaemon(scratch.path);
    await using client = await createClient(daemon);
    const call = await client.start("trap '' TERM; echo go; while :; do sleep 1; done");
    await call.until("go");
    await client.ask(FROM_CLIENT.stop, u32(100));
    await expect(client.call("true")).rejects.toMatchObject({ errno: 108 });
    expect(readEnded((await call.finish()).last.payload)).toMatchObject({ signal: 9 });
    expect(await daemon.exited).toBe(0);
  });

  test.for<[string, (socket: string) => Promise<unknown>]>([
    ["removed", (socket) => rm(socket)],
    ["renamed", (socket) => rename(socket, `${socket}.old`)],
    ["replaced by a file", (socket) => writeFile(`${socket}.new`, "").then(() => rename(`${socket}.new`, socket))],
    ["replaced by a link", (socket) => symlink("/nowhere", `${socket}.new`).then(() => rename(`${socket}.new`, socket))],
    ["deleted with its directory", (socket) => rm(dirname(socket), { recursive: true })],
  ])("a daemon whose socket is %s ends with all its trees, and leaves what is not its own", async ([, harm]) => {
    await using daemon = await startDaemon(scratch.path);
    const { pids } = await startTree(daemon);
    await harm(daemon.socket);
    const there = await lstat(daemon.socket).catch(() => null);
    expect(await daemon.exited).toBe(0);
    expect(pids.filter(alive)).toEqual([]);
    expect(await lstat(daemon.socket).catch(() => null)).toEqual(there);
  });

  test("a daemon goes on when others use its directory, and when that is renamed", async () => {
    await using daemon = await startDaemon(scratch.path);
    await writeFile(`${daemon.socket}.other`, "");
    await rm(`${daemon.socket}.other`);
    await rename(dirname(daemon.socket), join(scratch.path, "moved"));
    await rename(join(scratch.path, "moved"), dirname(daemon.socket));
    await using client = await createClient(daemon);
    expect((await client.call("echo on")).stdout).toBe("on\n");
  });

  test("closes what it inherits", async () => {
    const [secret, program] = [join(scratch.path, "secret"), await debugDaemon()];
    await writeFile(secret, SECRET);
    const serve = ["serve", "--socket", join(scratch.path, "s"), "--state", join(scratch.path, "state"), "--secret-file", secret];
    const child = spawn(program, serve, { stdio: ["ignore", "ignore", "inherit", "pipe"] });
    const inherited = child.stdio[3] as Readable;
    await once(inherited.resume(), "end");
    await eventually(() => existsSync(join(scratch.path, "s")), "it listens");
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  testIf("mount", "as pid 1 it buries whatever loses its parent", async () => {
    await using daemon = await startDaemon(scratch.path, { under: ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child=SIGTERM"] });
    await using client = await createClient(daemon);
    expect(client.link.pid).toBe(1);
    const [inner] = childrenOf(daemon.pid);
    for (let i = 0; i < 5; i++) execFileSync("nsenter", ["-t", `${inner}`, "-p", "-m", "sh", "-c", "(sleep 0.05 &) ; (setsid true &)"]);
    await eventually(() => childrenOf(inner ?? 0).length === 0 && zombiesOf(inner ?? 0).length === 0, "all orphans are buried");
    const call = await client.start("trap '' TERM; echo go; sleep 1000");
    await call.until("go");
    call.send(FROM_CLIENT.kill, u32(0));
    expect(readEnded((await call.finish()).last.payload)).toMatchObject({ signal: 9 });
    process.kill(inner ?? 0, "SIGTERM");
    expect(await daemon.exited).toBe(0);
  });

  test("relay passes the protocol on, and ends with either side", async () => {
    await using daemon = await startDaemon(scratch.path);
    const relay = spawn(await debugDaemon(), ["relay", "--socket", daemon.socket], { stdio: ["pipe", "pipe", "inherit"] });
    const exited = once(relay, "exit");
    const link = await daemon.link({ stream: duplexPair(relay.stdout, relay.stdin) });
    expect(link.pid).toBe(daemon.pid);
    const frames: number[] = [];
    const done = new Promise<void>((resolve) => {
      link.open(FROM_CLIENT.status, new Uint8Array(), {
        onFrame: ({ type }) => {
          frames.push(type);
          if (type === FROM_DAEMON.done) resolve();
          return type === FROM_DAEMON.done;
        },
        onLost: () => resolve(),
      });
    });
    await done;
    expect(frames).toEqual([FROM_DAEMON.status, FROM_DAEMON.done]);
    relay.stdin.end();
    expect(await exited).toEqual([0, null]);
  });
});

function duplexPair(readable: Readable, writable: Writable): Duplex {
  return Duplex.from({ readable: readable as never, writable: writable as never } as never);
}
