/** @module A client that speaks in bytes, and says whatever it likes. */
import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { FROM_CLIENT } from "../../src/sandbox/daemon/types.ts";
import { createFrameParser, createWriter, encodeFrame, type Frame } from "../../src/sandbox/daemon/wire.ts";
import type { TestDaemon } from "../helpers/daemon.ts";

export const MAGIC = Buffer.from("HFD\x01", "latin1");

export interface RawClient {
  readonly stream: Socket;
  /** Resolves when the bytes are with the kernel. */
  write(bytes: Uint8Array): Promise<void>;
  /** The next frame of the daemon; null when it has hung up. */
  next(): Promise<Frame | null>;
  /** Resolves when the daemon has hung up, with all that it had still to say. */
  hungUp(): Promise<Frame[]>;
  vanish(): void;
}

export function hello(nonce: Uint8Array): Buffer {
  return encodeFrame(FROM_CLIENT.hello, 0, Buffer.concat([MAGIC, nonce]));
}

export function mac(secret: Uint8Array, who: "client" | "daemon", ...nonces: Uint8Array[]): Buffer {
  return createHmac("sha256", secret)
    .update(Buffer.concat([Buffer.from(who), ...nonces]))
    .digest();
}

export async function connectRaw(daemon: TestDaemon): Promise<RawClient> {
  const stream = connect({ path: daemon.socket, allowHalfOpen: true });
  await once(stream, "connect");
  const parser = createFrameParser();
  const frames: Frame[] = [];
  let over = false;
  let wake: (() => void) | undefined;
  const changed = () => {
    wake?.();
    wake = undefined;
  };
  const end = () => {
    over = true;
    changed();
  };
  stream.on("data", (chunk: Buffer) => {
    frames.push(...parser.push(Uint8Array.from(chunk)));
    changed();
  });
  // A daemon that hangs up with bytes of ours unread resets the connection.
  stream.on("error", end);
  stream.on("end", end);
  stream.on("close", end);
  const next = async () => {
    for (;;) {
      const frame = frames.shift();
      if (frame !== undefined) return frame;
      if (over) return null;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return {
    stream,
    write: (bytes) =>
      new Promise((resolve) => {
        stream.write(bytes, () => resolve());
      }),
    next,
    async hungUp() {
      const rest: Frame[] = [];
      for (let frame = await next(); frame !== null; frame = await next()) rest.push(frame);
      stream.destroy();
      return rest;
    },
    vanish: () => void stream.destroy(),
  };
}

/** Greets the daemon, and gives the proof it waits for next. */
export async function proofFor(daemon: TestDaemon, client: RawClient, label = "raw"): Promise<Buffer> {
  const ours = randomBytes(32);
  await client.write(hello(ours));
  const answer = await client.next();
  const theirs = answer?.payload.subarray(1, 33) ?? Buffer.alloc(0);
  const payload = createWriter()
    .bytes(mac(daemon.secret, "client", theirs, ours))
    .str(label)
    .done();
  return encodeFrame(FROM_CLIENT.proof, 0, payload);
}

/** One that has proved itself. */
export async function connectProven(daemon: TestDaemon): Promise<RawClient> {
  const client = await connectRaw(daemon);
  await client.write(await proofFor(daemon, client));
  if ((await client.next()) === null) throw new Error("the daemon does not accept the proof");
  return client;
}
