import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rename, symlink } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { type DaemonCommand, startCall } from "../../src/sandbox/daemon/calls.ts";
import { type DaemonLink, linkDaemon } from "../../src/sandbox/daemon/link.ts";
import { FROM_CLIENT, FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { createFrameParser, createWriter, encodeFrame, type Frame } from "../../src/sandbox/daemon/wire.ts";
import { connectSocket, makeSecret, proveLink, SOCKET_FILE } from "../../src/sandbox/drivers/shared/daemon-socket.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { failureOf } from "../helpers/failure-of.ts";
import { createManualClock } from "../helpers/manual-clock.ts";
import { describeIf } from "../helpers/requirements.ts";
import { forEachTest } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { str } from "./frames.ts";
import { mac } from "./raw.ts";

const secret = randomBytes(32);
const LOST = { code: "sandbox-lost", retryable: false, facts: { mayHaveRun: true } };

/** What a server answers to the frames of a client. */
type Answer = (frame: Frame, stream: Socket) => void;

interface Greeting {
  readonly version?: number;
  readonly key?: Uint8Array;
  /** Whose nonce the proof is made for, when not the client's. */
  readonly nonce?: Uint8Array;
}

const greeting = (clientNonce: Uint8Array, { version = 1, key = secret, nonce = clientNonce }: Greeting = {}) => {
  const ours = randomBytes(32);
  return encodeFrame(
    FROM_DAEMON.hello,
    0,
    createWriter()
      .u8(version)
      .bytes(ours)
      .bytes(mac(key, "daemon", nonce, ours))
      .done(),
  );
};
const ready = () => encodeFrame(FROM_DAEMON.ready, 0, createWriter().u32(4321).str("not holdfastd").done());
const started = (channel: number) => encodeFrame(FROM_DAEMON.started, channel, createWriter().u32(77).u32(65_536).str("").done());
const output = (channel: number, bytes: number) => encodeFrame(FROM_DAEMON.output, channel, Buffer.alloc(bytes + 1, 1));
const ended = (channel: number) => encodeFrame(FROM_DAEMON.ended, channel, createWriter().u32(0).str("").str("").done());

const command: DaemonCommand = {
  argv: ["true"],
  env: {},
  cwd: "/",
  stdin: "none",
  merge: false,
  shown: "true",
  stateFile: null,
  onOutput: () => {},
};

const scratch = forEachTest(temporaryDirectory);
let server: Server | undefined;
afterEach(() => {
  server?.close();
  server = undefined;
});

/** A link to a server of ours; what it heard is kept. */
const listen = async (answer: Answer) => {
  const path = join(scratch.path, "s");
  const heard: Buffer[] = [];
  server = createServer((stream) => {
    const parser = createFrameParser();
    stream.on("error", () => {});
    stream.on("data", (chunk: Buffer) => {
      heard.push(Buffer.from(chunk));
      for (const frame of parser.push(Uint8Array.from(chunk))) answer(frame, stream);
    });
  });
  await new Promise<void>((resolve) => server?.listen(path, resolve));
  return { path, heard: () => Buffer.concat(heard) };
};
const link = (path: string, clock = systemClock): Promise<DaemonLink> => linkDaemon(connect(path), { secret, label: "a label", clock });

/** A daemon that greets as it should and then answers the first command like this. */
const linkToLiar = async (answer: (channel: number, stream: Socket) => void) => {
  const { path } = await listen(({ type, channel, payload }, stream) => {
    if (type === FROM_CLIENT.hello) stream.write(greeting(payload.subarray(4)));
    if (type === FROM_CLIENT.proof) stream.write(ready());
    if (type === FROM_CLIENT.start) answer(channel, stream);
  });
  return link(path);
};

describe("a stranger behind the socket", () => {
  test.for<[string, (nonce: Buffer) => Buffer]>([
    ["garbage", () => randomBytes(4096).fill(0xee, 0, 4)],
    ["a huge length", () => createWriter().u32(0xffffffff).u8(FROM_DAEMON.hello).u32(0).done()],
    ["a proof with another secret", (nonce) => greeting(nonce, { key: randomBytes(32) })],
    ["a proof for another nonce", (nonce) => greeting(nonce, { nonce: randomBytes(32) })],
    ["our own nonce and no proof", (nonce) => encodeFrame(FROM_DAEMON.hello, 0, Buffer.concat([Buffer.of(1), nonce, randomBytes(32)]))],
    ["another version", (nonce) => greeting(nonce, { version: 2 })],
    ["a greeting that is too short", () => encodeFrame(FROM_DAEMON.hello, 0, Buffer.from([1]))],
    ["consent before the greeting", () => ready()],
    ["output before the greeting", () => output(1, 10)],
  ])("who sends %s is refused, and learns nothing", async ([, say]) => {
    const { path, heard } = await listen(({ type, payload }, stream) => {
      if (type === FROM_CLIENT.hello) stream.write(say(payload.subarray(4)));
    });
    await expect(link(path)).rejects.toMatchObject({ code: "protocol" });
    // The greeting, and nothing else.
    expect(heard()).toHaveLength(45);
  });

  test("who says nothing, or never consents, is given up in time", async () => {
    for (const answer of [() => {}, ({ payload }: Frame, stream: Socket) => void stream.write(greeting(payload.subarray(4)))]) {
      const clock = createManualClock();
      const talked = Promise.withResolvers<void>();
      const { path } = await listen((frame, stream) => {
        if (frame.type === FROM_CLIENT.hello) answer(frame, stream);
        talked.resolve();
      });
      const failure = failureOf(link(path, clock));
      await talked.promise;
      await clock.advance(6000);
      expect(await failure).toMatchObject({ code: "sandbox-lost" });
      await new Promise((resolve) => server?.close(resolve));
    }
  });
});

describe("a daemon that lies", () => {
  test.for<[string, (channel: number, stream: Socket) => void]>([
    ["garbage", (_, stream) => stream.write(Buffer.alloc(4096, 0xee))],
    ["a huge length", (channel, stream) => stream.write(createWriter().u32(262_145).u8(0x91).u32(channel).done())],
    ["a frame for another channel", (channel, stream) => stream.write(started(channel + 1))],
    ["a frame for the connection", (_, stream) => stream.write(ready())],
    ["a frame of no known kind", (channel, stream) => stream.write(encodeFrame(0xee, channel))],
    ["an answer to something else", (channel, stream) => stream.write(encodeFrame(FROM_DAEMON.entry, channel))],
    ["a start that is too short", (channel, stream) => stream.write(encodeFrame(FROM_DAEMON.started, channel, Buffer.alloc(3)))],
    ["a start that is too long", (channel, stream) => stream.write(encodeFrame(FROM_DAEMON.started, channel, Buffer.alloc(40)))],
    [
      "a str that is longer than its frame",
      (channel, stream) => stream.write(encodeFrame(FROM_DAEMON.failed, channel, Buffer.alloc(8, 0xff))),
    ],
  ])("and answers a command with %s breaks the link", async ([, answer]) => {
    const daemon = await linkToLiar(answer);
    await expect(startCall(daemon, command)).rejects.toMatchObject({ code: "protocol" });
    await daemon.closed;
    expect(() => daemon.open(FROM_CLIENT.status, new Uint8Array(), { onFrame: () => true, onLost: () => {} })).toThrow();
  });

  test.for<[string, (channel: number) => Buffer]>([
    ["output of a stream that does not exist", (channel) => encodeFrame(FROM_DAEMON.output, channel, Buffer.from([7, 1]))],
    ["an end that is too short", (channel) => encodeFrame(FROM_DAEMON.ended, channel, Buffer.alloc(2))],
    ["an end that lies about its lengths", (channel) => encodeFrame(FROM_DAEMON.ended, channel, Buffer.alloc(12, 0xff))],
  ])("and sends %s for a running command breaks the link", async ([, frame]) => {
    const daemon = await linkToLiar((channel, stream) => stream.write(Buffer.concat([started(channel), frame(channel)])));
    const call = await startCall(daemon, command);
    await expect(call.ended).rejects.toMatchObject({ code: "protocol" });
    await daemon.closed;
  });

  test("and goes on after the end breaks the link, but not what has ended", async () => {
    const daemon = await linkToLiar((channel, stream) => stream.write(Buffer.concat([started(channel), ended(channel), ended(channel)])));
    const call = await startCall(daemon, command);
    expect(await call.ended).toMatchObject({ exitCode: 0 });
    await daemon.closed;
  });

  test("and sends more output than it was allowed, without end, is cut off before it fills our memory", async () => {
    let sent = 0;
    const daemon = await linkToLiar((channel, stream) => {
      stream.write(started(channel));
      const flood = () => {
        while (!stream.destroyed && stream.write(output(channel, 60_000))) sent += 60_000;
        if (!stream.destroyed) stream.once("drain", flood);
      };
      flood();
    });
    const call = await startCall(daemon, { ...command, onOutput: () => new Promise(() => {}) });
    await expect(call.ended).rejects.toMatchObject({ code: "protocol" });
    await daemon.closed;
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });

  test("and sends half a frame for ever keeps no more of us than one frame", async () => {
    const daemon = await linkToLiar((channel, stream) => {
      stream.write(started(channel));
      stream.write(output(channel, 200_000).subarray(0, 150_000));
      stream.end();
    });
    const call = await startCall(daemon, command);
    await expect(call.ended).rejects.toMatchObject(LOST);
  });

  test("and hangs up loses all calls, which may have run", async () => {
    const daemon = await linkToLiar((channel, stream) => {
      stream.write(started(channel));
      if (channel === 2) stream.destroy();
    });
    const first = await startCall(daemon, command);
    const lost = failureOf(first.ended);
    const second = failureOf(startCall(daemon, command).then(({ ended: end }) => end));
    expect([await lost, await second]).toMatchObject([LOST, LOST]);
    // Nothing of this one was sent.
    expect(await failureOf(Promise.resolve().then(() => startCall(daemon, command)))).toMatchObject({
      code: "sandbox-lost",
      facts: { mayHaveRun: false },
    });
  });

  test("and names a reason with anything in it is quoted, not obeyed", async () => {
    const daemon = await linkToLiar((channel, stream) =>
      stream.write(encodeFrame(FROM_DAEMON.failed, channel, Buffer.concat([Buffer.alloc(4, 0xff), str("no\u0000thing")]))),
    );
    await expect(startCall(daemon, command)).rejects.toMatchObject({ code: "spawn-failed", facts: { errno: 0xffffffff } });
  });
});

describeIf("cc", "a daemon that dies", () => {
  test("during a call loses it, which may have run and is not to be repeated", async () => {
    await using daemon = await startDaemon(scratch.path);
    const daemonLink = await daemon.link();
    const call = await startCall(daemonLink, { ...command, argv: ["sleep", "1000"], env: { PATH: process.env.PATH ?? "" } });
    const lost = failureOf(call.ended);
    await daemon.crash();
    expect(await lost).toMatchObject(LOST);
    await daemonLink.closed;
  });

  test("S20 while nobody looks at the line has certainly not run what it is asked for next", async () => {
    await using daemon = await startDaemon(scratch.path);
    const daemonLink = await daemon.link();
    const before = await startCall(daemonLink, { ...command, argv: ["sleep", "1000"], env: { PATH: process.env.PATH ?? "" } });
    const running = failureOf(before.ended);
    // Without a turn of the event loop, which would hear of the end.
    execFileSync("sh", ["-c", `kill -KILL ${daemon.pid}; until grep -qs '^State:.Z' /proc/${daemon.pid}/status; do :; done`]);
    const next = failureOf(startCall(daemonLink, command));
    const another = failureOf(startCall(daemonLink, command));
    expect(await next).toMatchObject({ code: "sandbox-lost", facts: { mayHaveRun: false } });
    // This one waited behind the other, so nobody can tell.
    expect(await another).toMatchObject({ code: "sandbox-lost" });
    expect(await running).toMatchObject(LOST);
    await daemon.crash();
  });

  test("S20 before it has said who it is ends neither its client nor the patience of whoever waits", async () => {
    const runDir = scratch.path;
    await makeSecret(runDir);
    const accepted = Promise.withResolvers<Socket>();
    server = createServer({ pauseOnConnect: true }, accepted.resolve);
    await new Promise<void>((resolve) => server?.listen(join(runDir, SOCKET_FILE), resolve));

    const socket = await connectSocket(runDir);
    if (typeof socket === "string") throw new Error(`the socket is ${socket}`);
    // Bytes that nobody read make the end a reset of the connection. No other listener for errors than those that belong to the socket.
    const closed = new Promise((resolve) => socket.once("close", resolve));
    await new Promise((resolve) => socket.write("x", resolve));
    (await accepted.promise).destroy();
    await closed;
    expect(socket.errored).toMatchObject({ code: "ECONNRESET" });
    // By this clock the time for the handshake is never up.
    const failure = await failureOf(proveLink(socket, { runDir, clock: createManualClock() }));
    expect(failure).toMatchObject({ code: "daemon-failed", message: expect.stringContaining("ECONNRESET") });
  });

  test("and whose socket is replaced by a link to another's is not mistaken for it", async () => {
    await using daemon = await startDaemon(scratch.path);
    const other = await listen(({ type, payload }, stream) => {
      if (type === FROM_CLIENT.hello) stream.write(greeting(payload.subarray(4)));
    });
    await symlink(other.path, `${daemon.socket}.new`);
    await rename(`${daemon.socket}.new`, daemon.socket);
    await expect(daemon.link()).rejects.toMatchObject({ code: "protocol" });
    expect(other.heard()).toHaveLength(45);
    expect(await daemon.exited).toBe(0);
  });
});
