/** @module A proven connection to a daemon, with numbered channels on it. */
import { createConnection } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../../base/clock.ts";
import { describeError, HoldfastError } from "../../base/errors.ts";
import { randomBytes } from "../../base/ids.ts";
import { equalBytes, hmacSha256 } from "../../base/sha256.ts";
import { FROM_CLIENT, FROM_DAEMON } from "./types.ts";
import {
  createFrameParser,
  createReader,
  createWriter,
  encodeFrame,
  encodeHead,
  type Frame,
  PROTOCOL_VERSION,
  protocolError,
} from "./wire.ts";

const MAGIC = Buffer.from("HFD\x01", "latin1");
const NONCE_BYTES = 32;
const HANDSHAKE_LIMIT_MS = 5_000;

export interface Channel {
  send(type: number, payload?: Uint8Array): void;
}

export interface ChannelHandlers {
  /** True when this was the last frame: the channel is closed. */
  onFrame(frame: Frame): boolean;
  /** The link broke before the last frame. `mayHaveRun` is false when the daemon cannot have had the frame that opened the channel. */
  onLost(error: HoldfastError): void;
}

/** Giving it up (`await using`) waits for nothing that is still open on it: the line is closed behind the last channel. */
export interface DaemonLink extends AsyncDisposable {
  readonly pid: number;
  /** Of the protocol that the daemon speaks: ours or, see older.ts, an earlier one. */
  readonly version: number;
  /** @throws `sandbox-lost` when the link is broken, `closed` when it was given up; in both cases nothing was sent */
  open(type: number, payload: Uint8Array, handlers: ChannelHandlers): Channel;
  /** Cuts the line, because the daemon does not do what it should. */
  abandon(reason: string): void;
  /** Settles when the link is no more, whatever the reason. */
  readonly closed: Promise<void>;
  readonly clock: Clock;
}

/** What a link runs on. */
export interface DaemonStream extends Duplex {
  ref?(): unknown;
  unref?(): unknown;
  destroySoon?(): void;
  /** Puts what comes where it is told to, instead of emitting it: much faster. */
  receive?(receiver: Receiver): void;
}

interface Receiver {
  space(): Uint8Array;
  /** That many bytes were put there. */
  received(bytes: number): void;
  /** These came before there was space. */
  push(chunk: Uint8Array): void;
}

/** A unix socket that is being connected. */
export function openSocket(path: string): DaemonStream {
  let receiver: Receiver | undefined;
  // Node asks for the first space at once.
  const first = Buffer.alloc(64);
  const callback = (bytes: number, buffer: Uint8Array) => {
    if (buffer === first) receiver?.push(first.subarray(0, bytes));
    else receiver?.received(bytes);
    return true;
  };
  const socket = createConnection({ path, onread: { buffer: () => receiver?.space() ?? first, callback } });
  // Whoever waits for it is told. Without a listener an error would end this process: when the daemon dies before it has greeted us, nobody
  // waits for the connection any more, and nobody for the greeting yet.
  socket.on("error", () => {});
  return Object.assign(socket, {
    receive(wanted: Receiver) {
      receiver = wanted;
      socket.resume();
    },
  });
}

export interface LinkOptions {
  /** 32 bytes that the daemon was started with. */
  readonly secret: Uint8Array;
  /** Who we are, for people who ask the daemon what keeps it busy. */
  readonly label: string;
  readonly clock: Clock;
}

/**
 * Proves to the daemon that we know the secret, and makes it do the same, before anything else is said: whoever listens behind a socket that
 * was replaced learns nothing.
 */
export async function linkDaemon(stream: DaemonStream, { secret, label, clock }: LinkOptions): Promise<DaemonLink> {
  const ours = randomBytes(NONCE_BYTES);
  const channels = new Map<number, { readonly handlers: ChannelHandlers; unsent: boolean }>();
  const parser = createFrameParser();
  const { promise: closed, resolve: markClosed } = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<number>();
  let version = 0;
  let step: "hello" | "ready" | "open" = "hello";
  let nextChannel = 1;
  let broken: HoldfastError | undefined;
  let givenUp = false;

  const fail = (error: HoldfastError) => {
    if (broken) return;
    broken = error;
    limit.cancel();
    stream.destroy();
    ready.reject(error);
    for (const { handlers, unsent } of channels.values()) handlers.onLost(unsent ? notSent(error) : error);
    channels.clear();
    markClosed();
  };
  const limit = clock.after(HANDSHAKE_LIMIT_MS, () => fail(lost("it did not answer the handshake in time")));

  const greet = ({ type, channel, payload }: Frame) => {
    if (type !== FROM_DAEMON.hello || channel !== 0) throw protocolError("something else than its greeting");
    const reader = createReader(payload);
    version = reader.u8();
    const theirs = Buffer.from(reader.bytes(NONCE_BYTES));
    const proof = reader.bytes(NONCE_BYTES);
    reader.end();
    if (!equalBytes(proof, hmacSha256(secret, "daemon", ours, theirs))) throw protocolError("a wrong proof");
    if (version > PROTOCOL_VERSION) throw newerDaemon(version);
    stream.write(
      encodeFrame(
        FROM_CLIENT.proof,
        0,
        createWriter()
          .bytes(hmacSha256(secret, "client", theirs, ours))
          .str(label)
          .done(),
      ),
    );
    step = "ready";
  };
  const accept = ({ type, channel, payload }: Frame) => {
    if (type !== FROM_DAEMON.ready || channel !== 0) throw protocolError("something else than its consent");
    const reader = createReader(payload);
    const pid = reader.u32();
    reader.str();
    reader.end();
    limit.cancel();
    step = "open";
    ready.resolve(pid);
  };
  const dispatch = (frame: Frame) => {
    const handlers = channels.get(frame.channel)?.handlers;
    if (handlers === undefined) throw protocolError(`a message for channel ${frame.channel}, which is not open`);
    if (handlers.onFrame(frame)) close(frame.channel);
  };
  /** When all is sent; the daemon takes it for the end, so there is no answer to wait for. */
  const hangUp = () => (stream.destroySoon ? stream.destroySoon() : stream.end());
  const close = (channel: number) => {
    channels.delete(channel);
    if (channels.size > 0) return;
    // A link on which nothing happens keeps no program running.
    stream.unref?.();
    if (givenUp) hangUp();
  };
  const take = (frames: () => Frame[]) => {
    try {
      for (const frame of frames()) {
        if (broken) return;
        if (step === "open") dispatch(frame);
        else if (step === "hello") greet(frame);
        else accept(frame);
      }
    } catch (error) {
      fail(HoldfastError.isInstance(error) ? error : lost(describeError(error)));
    }
  };
  const receiver: Receiver = {
    space: parser.space,
    received: (bytes) => take(() => parser.received(bytes)),
    push: (chunk) => take(() => parser.push(chunk)),
  };
  if (stream.receive) stream.receive(receiver);
  else stream.on("data", receiver.push);
  stream.on("error", (error) => fail(lost(describeError(error))));
  stream.on("close", () => fail(lost("the connection ended")));
  // Of what has failed already no event comes any more.
  if (stream.destroyed) fail(lost(stream.errored ? describeError(stream.errored) : "the connection ended"));
  stream.write(encodeFrame(FROM_CLIENT.hello, 0, Buffer.concat([MAGIC, ours])));

  const pid = await ready.promise;
  stream.unref?.();
  return {
    pid,
    version,
    closed,
    clock,
    open(type, payload, handlers) {
      if (givenUp) throw new HoldfastError("closed", "the connection to the sandbox was closed");
      if (broken) throw notSent(broken);
      const number = nextChannel++;
      const frame = encodeFrame(type, number, payload);
      if (channels.size === 0) stream.ref?.();
      const opened = { handlers, unsent: stream.destroyed };
      channels.set(number, opened);
      // The daemon may have gone while nobody looked at the line. A frame that was not written whole means nothing to it; one that is
      // written together with others may be whole when the others are not.
      const alone = stream.writableLength === 0;
      stream.write(frame, (error) => {
        if (error) opened.unsent ||= alone;
      });
      return {
        // A frame that crosses the daemon's last one is ignored there; one after it need not be sent.
        send(kind, bytes = new Uint8Array()) {
          if (!channels.has(number)) return;
          // Long ones are not copied for it.
          stream.cork();
          stream.write(encodeHead(kind, number, bytes));
          stream.write(bytes);
          stream.uncork();
        },
      };
    },
    abandon: (reason) => fail(lost(reason, { abandoned: true })),
    async [Symbol.asyncDispose]() {
      givenUp = true;
      if (channels.size > 0) return;
      // Whoever waits for the end must live to see it.
      stream.ref?.();
      hangUp();
      await closed;
    },
  };
}

function notSent(error: HoldfastError): HoldfastError {
  return new HoldfastError(error.code, error.message, { facts: { ...error.facts, mayHaveRun: false }, cause: error });
}

function newerDaemon(version: number): HoldfastError {
  const versions = `it speaks version ${version} of the protocol, this one ${PROTOCOL_VERSION}`;
  return new HoldfastError("protocol", `the daemon in the sandbox is of a newer version of Holdfast (${versions})`, {
    hint: "use that version, as whoever started the daemon does; an earlier one cannot speak to it",
    facts: { protocol: version },
  });
}

/** `abandoned`: it is there, but does not answer. */
function lost(reason: string, more: { readonly abandoned?: boolean } = {}): HoldfastError {
  return new HoldfastError("sandbox-lost", `the daemon in the sandbox is gone: ${reason}`, {
    facts: { reason, mayHaveRun: true, ...more },
  });
}
