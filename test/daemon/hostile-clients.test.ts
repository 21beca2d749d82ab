import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { FROM_CLIENT, FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { createWriter, encodeFrame } from "../../src/sandbox/daemon/wire.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { describeIf } from "../helpers/requirements.ts";
import { forSuite } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { createClient } from "./client.ts";
import { archiveOf } from "./file-requests.ts";
import { FLAG, PLENTY, startPayload, str, u16s, u32 } from "./frames.ts";
import { childrenOf, descriptorsOf, eventually, setClock } from "./machine.ts";
import { connectProven, connectRaw, hello, MAGIC, proofFor, type RawClient } from "./raw.ts";

interface Vectors {
  readonly cutOff: readonly { readonly why: string; readonly hex: string }[];
}
const vectors: Vectors = JSON.parse(readFileSync(new URL("../../holdfastd/test/vectors.json", import.meta.url), "utf8"));

const header = (length: number, type: number) => createWriter().u32(length).u8(type).u32(0).done();

const isOpener = (frame: Buffer) => frame.readUInt8(4) === FROM_CLIENT.start || frame.readUInt8(4) >= FROM_CLIENT.processes;

/** Sends a frame and waits for the first answer, if there is one: input before it would be beyond all credit. */
const say = async (client: RawClient, frame: Buffer): Promise<void> => {
  await client.write(frame);
  if (!isOpener(frame) || frame.readUInt8(4) === FROM_CLIENT.wait) return;
  for (let answer = await client.next(); answer?.channel !== frame.readUInt32LE(5); answer = await client.next()) {
    if (answer === null) throw new Error(`the daemon hung up after a frame of type ${frame.readUInt8(4)}`);
  }
};

const STRANGERS: Readonly<Record<string, Buffer>> = {
  "another protocol": Buffer.from("GET / HTTP/1.0\r\n\r\n"),
  zeros: Buffer.alloc(9),
  ones: Buffer.alloc(100, 0xff),
  "a length beyond all": header(0xffffffff, 1),
  "a length that only friends may use": header(513, 1),
  "a length that is too short": header(4, 1),
  "another version": encodeFrame(FROM_CLIENT.hello, 0, Buffer.concat([Buffer.from("HFD\x02"), randomBytes(32)])),
  "a greeting on a channel": encodeFrame(FROM_CLIENT.hello, 1, Buffer.concat([MAGIC, randomBytes(32)])),
  "a nonce that is too short": hello(randomBytes(31)),
  "a nonce that is too long": hello(randomBytes(33)),
  "a command before anything else": encodeFrame(FROM_CLIENT.start, 1, startPayload(["true"])),
  "a question before anything else": encodeFrame(FROM_CLIENT.status, 1),
};

describeIf("cc", "clients that holdfastd must not trust", () => {
  const scratch = forSuite(temporaryDirectory);
  const daemon = forSuite(() => startDaemon(scratch.path));
  let files: string;
  beforeAll(async () => {
    files = join(scratch.path, "files");
    await mkdir(files);
  });

  /** Nothing of all the clients before is left. */
  const expectCalm = async (descriptors: number) => {
    await using client = await createClient(daemon);
    await eventually(async () => {
      const { leases, calls } = await client.status();
      return leases === 1 && calls === 0;
    }, "all clients are gone, with their calls");
    for (const { id } of await client.processes()) {
      await client.ask(FROM_CLIENT.killProcess, createWriter().str(id).u32(0).done());
      await client.ask(FROM_CLIENT.forgetProcess, str(id));
    }
    await eventually(() => childrenOf(daemon.pid).length === 0, "all keepers are gone");
    expect((await client.call("echo on")).stdout).toBe("on\n");
    await eventually(() => descriptorsOf(daemon.pid) <= descriptors + 1, "all descriptors are closed");
  };

  test.for(Object.entries(STRANGERS))("a stranger who sends %s is cut off without a word", async ([, bytes]) => {
    const client = await connectRaw(daemon);
    await client.write(bytes);
    expect(await client.hungUp()).toEqual([]);
  });

  test("strangers who send anything are cut off without a word", async () => {
    for (let i = 0; i < 100; i++) {
      const client = await connectRaw(daemon);
      await client.write(randomBytes(600 + i));
      expect(await client.hungUp()).toEqual([]);
    }
  });

  test("who does not know the secret gets nothing but the greeting", async () => {
    for (const reply of [
      encodeFrame(FROM_CLIENT.proof, 0, Buffer.concat([randomBytes(32), str("x")])),
      encodeFrame(FROM_CLIENT.status, 1),
    ]) {
      const client = await connectRaw(daemon);
      await client.write(hello(randomBytes(32)));
      expect((await client.next())?.type).toBe(FROM_DAEMON.hello);
      await client.write(reply);
      expect(await client.hungUp()).toEqual([]);
    }
    const long = await connectRaw(daemon);
    await long.write(await proofFor(daemon, long, "x".repeat(257)));
    expect(await long.hungUp()).toEqual([]);
  });

  test.for(vectors.cutOff)("a client is cut off for: $why", async ({ hex }) => {
    const client = await connectProven(daemon);
    await client.write(Buffer.from(hex, "hex"));
    expect(await client.hungUp()).toEqual([]);
  });

  test("a client is cut off for input beyond its credit, for input that nobody takes, and for a channel opened twice", async () => {
    const start = (flags: number) => encodeFrame(FROM_CLIENT.start, 1, startPayload("sleep 1000", { flags }));
    const input = (bytes: number) => encodeFrame(FROM_CLIENT.input, 1, Buffer.alloc(bytes));
    const reading = encodeFrame(FROM_CLIENT.readFile, 1, createWriter().str("/etc/passwd").u64(0).u64(0).u32(0).done());
    const cases = [
      [start(FLAG.input), input(65_537)],
      [start(0), input(1)],
      [reading, input(1)],
      [start(0), start(0)],
    ];
    for (const [first = Buffer.alloc(0), second = Buffer.alloc(0)] of cases) {
      const client = await connectProven(daemon);
      await client.write(first);
      await client.next();
      await client.write(second);
      await client.hungUp();
    }
    await expectCalm(descriptorsOf(daemon.pid));
  });

  test("frames for a channel that is not open any more are ignored", async () => {
    const client = await connectProven(daemon);
    const late = [
      encodeFrame(FROM_CLIENT.input, 77),
      encodeFrame(FROM_CLIENT.inputEnd, 77),
      encodeFrame(FROM_CLIENT.detach, 77),
      encodeFrame(FROM_CLIENT.credit, 77, u32(1)),
      encodeFrame(FROM_CLIENT.kill, 77, u32(1)),
      encodeFrame(FROM_CLIENT.signal, 77, Buffer.from([9])),
      encodeFrame(FROM_CLIENT.resize, 77, u16s(1, 1)),
    ];
    await client.write(Buffer.concat([...late, encodeFrame(FROM_CLIENT.status, 77)]));
    expect((await client.next())?.type).toBe(FROM_DAEMON.status);
    client.vanish();
  });

  test("a client that closes only its sending side has left, and its calls end", async () => {
    const client = await connectProven(daemon);
    await client.write(encodeFrame(FROM_CLIENT.start, 1, startPayload("echo go; sleep 1000")));
    expect((await client.next())?.type).toBe(FROM_DAEMON.started);
    client.stream.end();
    await client.hungUp();
    await expectCalm(descriptorsOf(daemon.pid));
  });

  test("a client that never finishes its greeting is cut off after 5 seconds", async () => {
    await using place = await temporaryDirectory();
    const clock = join(place.path, "clock");
    setClock(clock, 0);
    await using other = await startDaemon(place.path, { env: { HOLDFASTD_CLOCK: clock } });
    const silent = await connectRaw(other);
    const halfway = await connectRaw(other);
    await proofFor(other, halfway);
    await using proven = await createClient(other);
    setClock(clock, 6000);
    connect(other.socket)
      .on("error", () => {})
      .end();
    expect([await silent.hungUp(), await halfway.hungUp()]).toEqual([[], []]);
    expect((await proven.status()).leases).toBe(1);
  });

  /** All that a client can have under way, in the order in which a client would. */
  const session = async (id: string): Promise<Buffer[]> => {
    const archive = await archiveOf([{ name: "d/file" }, "x".repeat(700)]);
    const file = join(files, "written");
    return [
      encodeFrame(FROM_CLIENT.start, 1, startPayload(["cat"], { flags: FLAG.input })),
      encodeFrame(FROM_CLIENT.input, 1, Buffer.from("some input")),
      encodeFrame(FROM_CLIENT.start, 2, startPayload(["cat"], { flags: FLAG.pty, credit: 3 })),
      encodeFrame(FROM_CLIENT.resize, 2, u16s(10, 20)),
      encodeFrame(FROM_CLIENT.input, 2, Buffer.from("line\n")),
      encodeFrame(FROM_CLIENT.credit, 2, u32(2)),
      encodeFrame(FROM_CLIENT.start, 3, startPayload(["true"], { kind: 1, name: "short" })),
      encodeFrame(FROM_CLIENT.processes, 4),
      encodeFrame(FROM_CLIENT.readLog, 5, createWriter().str(id).u64(0).u8(1).u32(PLENTY).done()),
      encodeFrame(FROM_CLIENT.attach, 6, createWriter().str(id).u16(0).u16(0).u32(PLENTY).done()),
      encodeFrame(FROM_CLIENT.wait, 7, str(id)),
      encodeFrame(FROM_CLIENT.writeProcess, 8, createWriter().str(id).u8(0).bytes(Buffer.from("x")).done()),
      encodeFrame(FROM_CLIENT.writeFile, 9, createWriter().str(file).u16(0o644).u8(0).done()),
      encodeFrame(FROM_CLIENT.input, 9, Buffer.from("half a file")),
      encodeFrame(FROM_CLIENT.tarIn, 10, str(join(files, "unpacked"))),
      encodeFrame(FROM_CLIENT.input, 10, archive.subarray(0, 900)),
      encodeFrame(FROM_CLIENT.tarOut, 11, createWriter().str(files).u32(100).done()),
      encodeFrame(FROM_CLIENT.readFile, 12, createWriter().str("/etc/passwd").u64(0).u64(0).u32(1).done()),
      encodeFrame(FROM_CLIENT.list, 13, str("/")),
      encodeFrame(FROM_CLIENT.status, 14),
      encodeFrame(FROM_CLIENT.kill, 2, u32(0)),
      encodeFrame(FROM_CLIENT.inputEnd, 1),
    ];
  };

  test("a client may vanish after every byte of its greeting", async () => {
    const descriptors = descriptorsOf(daemon.pid);
    const greeting = hello(randomBytes(32));
    const steps: [RawClient, Buffer][] = [];
    for (let cut = 0; cut <= greeting.length; cut++) steps.push([await connectRaw(daemon), greeting.subarray(0, cut)]);
    for (let cut = 0; ; cut++) {
      const client = await connectRaw(daemon);
      const proof = await proofFor(daemon, client);
      steps.push([client, proof.subarray(0, cut)]);
      if (cut === proof.length) break;
    }
    for (const [client, bytes] of steps) {
      if (bytes.length > 0) await client.write(bytes);
      client.vanish();
    }
    await expectCalm(descriptors);
  });

  test("a client may vanish after every frame of its work, and in the middle of each", async () => {
    await using starter = await createClient(daemon);
    const descriptors = descriptorsOf(daemon.pid) - 1;
    const { id } = await starter.process("cat", { flags: FLAG.input });
    const frames = await session(id);
    const cuts = frames.flatMap((frame, count) => [1, Math.ceil(frame.length / 2), frame.length].map((cut) => ({ frame, count, cut })));
    const steps = [true, false].flatMap((patient) => cuts.map((cut) => ({ ...cut, patient })));
    for (const { frame, count, cut, patient } of steps) {
      const client = await connectProven(daemon);
      for (const before of frames.slice(0, count)) await say(client, before);
      if (cut === frame.length && patient) await say(client, frame);
      else await client.write(frame.subarray(0, cut));
      client.vanish();
    }
    await starter[Symbol.asyncDispose]();
    await expectCalm(descriptors);
    expect(await readdir(files)).toEqual(["unpacked"]);
  });

  test("a client may send its bytes one by one, and thousands of questions at once", async () => {
    const client = await connectProven(daemon);
    client.stream.setNoDelay(true);
    for (const byte of encodeFrame(FROM_CLIENT.start, 1, startPayload(["echo", "hi"]))) await client.write(Uint8Array.of(byte));
    expect((await client.next())?.type).toBe(FROM_DAEMON.started);
    await client.write(Buffer.concat(Array.from({ length: 3000 }, (_, i) => encodeFrame(FROM_CLIENT.status, i + 10))));
    let answers = 0;
    while (answers < 3000) if ((await client.next())?.type === FROM_DAEMON.status) answers++;
    client.vanish();
  });

  test("a session in which any byte may be wrong does no harm", async () => {
    const descriptors = descriptorsOf(daemon.pid);
    const frames = await session("p_00000000");
    const good = Buffer.concat([...frames.filter(isOpener), ...frames.filter((frame) => !isOpener(frame))]);
    for (let round = 0; round < 150; round++) {
      const bad = Buffer.from(good);
      // Only the highest bit: no frame becomes a REMOVE, a RENAME or a STOP.
      for (let i = 0; i <= round % 5; i++) {
        const at = Math.floor(Math.random() * bad.length);
        bad[at] = (bad[at] ?? 0) ^ 0x80;
      }
      const client = await connectProven(daemon);
      await client.write(bad);
      client.vanish();
    }
    await expectCalm(descriptors);
  });
});
