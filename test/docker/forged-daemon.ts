/** @module A program that has taken the place of holdfastd, knows its secret, and answers as a test wants. */
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { OUTPUT_WINDOW } from "../../src/sandbox/daemon/streams.ts";
import { FROM_CLIENT, FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { createFrameParser, createWriter, encodeFrame, type Frame } from "../../src/sandbox/daemon/wire.ts";
import { doneFrame } from "../daemon/frames.ts";
import { mac } from "../daemon/raw.ts";

const PIECE = 64 * 1024 - 1;

/** True when the frame was answered; false leaves it to the forger, who says yes to whatever can be said yes to. */
export type ForgedAnswer = (frame: Frame, say: (...frames: Buffer[]) => void, stream: Socket) => boolean;

export interface ForgedDaemon {
  /** The kinds of frames that came after the proof. */
  readonly heard: number[];
}

/** The one directory that the container and the host share; a sandbox that was made once has one. */
export async function runDirectoryOf(place: string): Promise<string> {
  const [only = ""] = await readdir(join(place, "run"));
  return join(place, "run", only);
}

/** Made elsewhere and moved there, which is the same to whoever connects, and as a program in the container would do it. */
export async function takePlace(runDir: string, answer: ForgedAnswer = () => false): Promise<ForgedDaemon> {
  const secret = Buffer.from(await readFile(join(runDir, "secret"), "latin1"), "hex");
  const heard: number[] = [];
  const streams = new Set<Socket>();
  const server = createServer((stream) => {
    streams.add(stream);
    const parser = createFrameParser();
    const say = (...frames: Buffer[]) => void (stream.destroyed || stream.write(Buffer.concat(frames)));
    stream.on("error", () => {});
    stream.on("data", (chunk: Buffer) => {
      for (const frame of parser.push(Uint8Array.from(chunk))) {
        if (frame.type === FROM_CLIENT.hello) say(greeting(secret, frame.payload.subarray(4)));
        else if (frame.type === FROM_CLIENT.proof) say(encodeFrame(FROM_DAEMON.ready, 0, createWriter().u32(1).str("forged").done()));
        else {
          heard.push(frame.type);
          if (!answer(frame, say, stream)) assent(frame, say);
        }
      }
    });
  });
  const place = await mkdtemp(join(tmpdir(), "holdfast-forged-"));
  await new Promise<void>((resolve) => server.listen(join(place, "s"), resolve));
  await rename(join(place, "s"), join(runDir, "socket"));
  onTestFinished(async () => {
    for (const stream of streams) stream.destroy();
    server.close();
    await rm(place, { recursive: true, force: true });
  });
  return { heard };
}

export const openedFrame = (channel: number, size = 0): Buffer =>
  encodeFrame(FROM_DAEMON.opened, channel, createWriter().u32(65_536).u64(size).done());
export const outputFrame = (channel: number, bytes: Uint8Array): Buffer =>
  encodeFrame(FROM_DAEMON.output, channel, Buffer.concat([Buffer.of(1), bytes]));
export const startedFrame = (channel: number): Buffer =>
  encodeFrame(FROM_DAEMON.started, channel, createWriter().u32(77).u32(65_536).str("").done());
/** `report` is what the shell of the call would have said. */
export const endedFrame = (channel: number, report: string): Buffer =>
  encodeFrame(FROM_DAEMON.ended, channel, createWriter().u8(0).u8(0).u8(0).u8(1).str(report).str("").done());
export const entryFrame = (channel: number, name: string, kind = 1): Buffer =>
  encodeFrame(FROM_DAEMON.entry, channel, createWriter().str(name).u8(kind).u32(0o644).u64(3).u64(0).str("").done());

export interface Faucet {
  /** All that may come before the first grant. */
  open(channel: number, say: (frame: Buffer) => void): void;
  /** True when the frame was a grant, which it uses to the last byte. */
  granted(frame: Frame, say: (frame: Buffer) => void): boolean;
  readonly sent: number;
}

/** Output that never ends, and never is more than was granted. */
export function createFaucet(): Faucet {
  let sent = 0;
  const pour = (channel: number, bytes: number, say: (frame: Buffer) => void) => {
    for (let left = bytes; left > 0; left -= PIECE) say(outputFrame(channel, Buffer.alloc(Math.min(left, PIECE), "x")));
    sent += bytes;
  };
  return {
    open: (channel, say) => pour(channel, OUTPUT_WINDOW, say),
    granted({ type, channel, payload }, say) {
      if (type !== FROM_CLIENT.credit) return false;
      pour(channel, payload.readUInt32LE(), say);
      return true;
    },
    get sent() {
      return sent;
    },
  };
}

function assent({ type, channel }: Frame, say: (...frames: Buffer[]) => void): void {
  if (type === FROM_CLIENT.writeFile) say(openedFrame(channel));
  else if (type === FROM_CLIENT.inputEnd || type === FROM_CLIENT.detach) say(doneFrame(channel));
  else if (type === FROM_CLIENT.list) say(entryFrame(channel, "state"), doneFrame(channel));
  else if (type === FROM_CLIENT.start) say(startedFrame(channel), endedFrame(channel, "started\0ended\0/\0\0\0saved\0"));
  else if (type !== FROM_CLIENT.input && type !== FROM_CLIENT.credit) say(doneFrame(channel));
}

function greeting(secret: Uint8Array, clientNonce: Uint8Array): Buffer {
  const ours = randomBytes(32);
  const payload = createWriter()
    .u8(1)
    .bytes(ours)
    .bytes(mac(secret, "daemon", clientNonce, ours))
    .done();
  return encodeFrame(FROM_DAEMON.hello, 0, payload);
}
