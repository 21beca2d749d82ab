import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../src/base/clock.ts";
import { type DaemonCommand, startCall } from "../src/sandbox/daemon/calls.ts";
import { type DaemonLink, linkDaemon } from "../src/sandbox/daemon/link.ts";
import { describeIf } from "./helpers/requirements.ts";
import { type TemporaryDirectory, temporaryDirectory } from "./helpers/temporary-directory.ts";

const SOURCES = join(dirname(import.meta.dirname), "holdfastd");

describeIf("cc", "holdfastd", () => {
  let scratch: TemporaryDirectory;
  let socket: string;
  let program: string;
  const secret = randomBytes(32);
  let stop: () => Promise<void>;

  beforeAll(async () => {
    scratch = await temporaryDirectory();
    const build = join(scratch.path, "build");
    cpSync(SOURCES, build, { recursive: true });
    execFileSync("make", ["-s", "-C", build, "debug"]);
    program = join(build, "holdfastd-debug");
    await mkdir(join(scratch.path, "run"), { mode: 0o700 });
    await mkdir(join(scratch.path, "state"), { mode: 0o700 });
    await writeFile(join(scratch.path, "secret"), secret.toString("hex"), { mode: 0o600 });
    socket = join(scratch.path, "run/socket");
    execFileSync(program, [...serve(), "--background"]);
    stop = async () => {
      const { pid } = await link();
      process.kill(pid, "SIGTERM");
    };
  });
  afterAll(async () => {
    await stop?.();
    await scratch[Symbol.asyncDispose]();
  });

  const serve = () => ["serve", "--socket", socket, "--state", join(scratch.path, "state"), "--secret-file", join(scratch.path, "secret")];
  const link = (key: Uint8Array = secret): Promise<DaemonLink> =>
    linkDaemon(connect(socket), { secret: key, label: "test", clock: systemClock });

  /** Runs a command to its end and gives all it wrote. */
  const run = async (daemon: DaemonLink, script: string, { input, ...options }: Partial<DaemonCommand> & { input?: string } = {}) => {
    const chunks: Buffer[] = [];
    const child = await startCall(daemon, {
      argv: ["bash", "--norc", "-c", script],
      env: { PATH: process.env.PATH ?? "" },
      cwd: scratch.path,
      stdin: input === undefined ? "none" : "pipe",
      merge: false,
      shown: "test",
      stateFile: null,
      onOutput: (chunk) => void chunks.push(Buffer.from(chunk)),
      ...options,
    });
    child.stdin?.end(input);
    return { end: await child.ended, output: Buffer.concat(chunks).toString() };
  };

  test("runs a command and tells its output and end", async () => {
    await using daemon = await link();
    const { end, output } = await run(daemon, 'echo "$PWD"; cat; exit 3', { input: "input" });
    expect(output).toBe(`${scratch.path}\ninput`);
    expect(end).toMatchObject({ exitCode: 3, signal: null, unsaved: null });
  });

  test("S34 hands over a long output whole, within its window", async () => {
    await using daemon = await link();
    let bytes = 0;
    const onOutput = (chunk: Uint8Array) => {
      bytes += chunk.length;
      return new Promise<void>((resolve) => setImmediate(resolve));
    };
    await run(daemon, "head -c 20000000 /dev/zero", { onOutput });
    expect(bytes).toBe(20_000_000);
  });

  test("S35 takes a long input, as fast as the command reads it", async () => {
    await using daemon = await link();
    expect((await run(daemon, "wc -c", { input: "x".repeat(5_000_000) })).output).toBe("5000000\n");
    expect((await run(daemon, "head -c 1", { input: "x".repeat(5_000_000) })).output).toBe("x");
  });

  test("S33 ends the whole tree of a call, also what detached itself and emptied its environment", async () => {
    await using daemon = await link();
    const pids = new PassThrough();
    const child = await startCall(daemon, {
      argv: ["bash", "-c", "(env -i setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000; sleep 1000' &) ; sleep 1000"],
      env: { PATH: process.env.PATH ?? "" },
      cwd: "/",
      stdin: "none",
      merge: false,
      shown: "test",
      stateFile: null,
      onOutput: (chunk) => void pids.write(Buffer.from(chunk)),
    });
    const pid = await new Promise<number>((resolve) => pids.once("data", (chunk) => resolve(Number(chunk.toString()))));
    await child.kill({ graceMs: 100 });
    expect(await child.ended).toMatchObject({ signal: "SIGTERM" });
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  test("S38 one slow call does not delay another", async () => {
    await using daemon = await link();
    const fifo = join(scratch.path, "fifo");
    execFileSync("mkfifo", [fifo]);
    const slow = run(daemon, `read -r line <"${fifo}"; echo "$line"`);
    expect((await run(daemon, "echo fast")).output).toBe("fast\n");
    await run(daemon, `echo released >"${fifo}"`);
    expect((await slow).output).toBe("released\n");
  });

  test("a program that cannot be started is an error that says so", async () => {
    await using daemon = await link();
    await expect(run(daemon, "", { argv: ["/does/not/exist"] })).rejects.toMatchObject({ code: "spawn-failed" });
  });

  test("a second daemon on the same socket says so and ends", async () => {
    const second = spawn(program, serve(), { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    second.stderr.on("data", (chunk) => {
      said += chunk;
    });
    const code = await new Promise((resolve) => second.once("close", resolve));
    expect({ code, said }).toEqual({ code: 3, said: expect.stringContaining("already running") });
  });

  test("whoever does not know the secret gets nothing", async () => {
    await expect(link(randomBytes(32))).rejects.toMatchObject({ code: "protocol" });
  });

  test("a stranger behind the socket learns nothing and can make us do nothing", async () => {
    const path = join(scratch.path, "run/stranger");
    const heard: Buffer[] = [];
    const server = createServer((stream) => {
      stream.on("data", (chunk: Buffer) => heard.push(chunk));
      stream.on("error", () => {});
      stream.write(Buffer.concat([Buffer.from("46000000810000000001", "hex"), randomBytes(64)]));
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    await expect(linkDaemon(connect(path), { secret, label: "secret label", clock: systemClock })).rejects.toMatchObject({
      code: "protocol",
    });
    expect(Buffer.concat(heard).includes("secret label")).toBe(false);
    expect(Buffer.concat(heard).length).toBeLessThanOrEqual(45);
    await new Promise((resolve) => server.close(resolve));
  });

  test("calls of a link that breaks are lost, and may have run", async () => {
    const stream = connect(socket);
    const daemon = await linkDaemon(stream, { secret, label: "test", clock: systemClock });
    const call = run(daemon, "sleep 1000");
    const lost = expect(call).rejects.toMatchObject({ code: "sandbox-lost", facts: { mayHaveRun: true } });
    await run(daemon, "true");
    stream.destroy();
    await lost;
  });
});
