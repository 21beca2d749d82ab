/** @module The protocol frame by frame, for tests that look at what the daemon really sends. */
import { connect, type Socket } from "node:net";
import type { DaemonLink } from "../../src/sandbox/daemon/link.ts";
import { FROM_CLIENT, FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { createReader, createWriter, type Frame } from "../../src/sandbox/daemon/wire.ts";
import type { TestDaemon } from "../helpers/daemon.ts";
import {
  type Ended,
  failure,
  type ProcessEntry,
  readEnded,
  readProcess,
  readStatus,
  type StartOptions,
  type Status,
  startPayload,
} from "./frames.ts";

const LONGEST_INPUT = 200_000;
const LAST: readonly number[] = [FROM_DAEMON.ended, FROM_DAEMON.done, FROM_DAEMON.failed];

/** A channel, with what has come on it and was not looked at yet. */
export interface Conversation {
  send(type: number, payload?: Uint8Array): void;
  next(): Promise<Frame>;
  /** The payload of the next frame, which must be of this type; a FAILED is thrown with its errno. */
  take(type: number): Promise<Buffer>;
  /** Output of both streams until it holds the text. */
  until(text: string): Promise<string>;
  /** All output, and the frame that closes the channel. */
  finish(): Promise<Finished>;
  /** The same, while it gets this input within the daemon's credit. */
  feed(input: Uint8Array, credit: number): Promise<Finished>;
}

export interface Finished {
  readonly last: Frame;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

export interface Called extends Ended {
  readonly stdout: string;
  readonly stderr: string;
}

export type Command = string | readonly string[];

/** Giving it up cuts the line, whatever is open on it. */
export interface Client extends AsyncDisposable {
  readonly link: DaemonLink;
  readonly stream: Socket;
  open(type: number, payload?: Uint8Array): Conversation;
  /** A request whose answer is DONE, with the frames before it. */
  ask(type: number, payload?: Uint8Array): Promise<Frame[]>;
  /** A command that has been started. */
  start(command: Command, options?: StartOptions): Promise<Conversation & { readonly pid: number; readonly credit: number }>;
  call(command: Command, options?: StartOptions & { input?: Uint8Array }): Promise<Called>;
  process(command: Command, options?: StartOptions): Promise<{ id: string; pid: number }>;
  processes(): Promise<ProcessEntry[]>;
  wait(id: string): Promise<Ended>;
  status(): Promise<Status>;
}

export async function createClient(daemon: TestDaemon, options: { label?: string } = {}): Promise<Client> {
  const stream = connect(daemon.socket);
  const link = await daemon.link({ ...options, stream });
  const open = (type: number, payload: Uint8Array = new Uint8Array()) => converse(link, type, payload);
  const ask = async (type: number, payload?: Uint8Array) => {
    const conversation = open(type, payload);
    const frames: Frame[] = [];
    for (;;) {
      const frame = await conversation.next();
      if (frame.type === FROM_DAEMON.failed) throw failure(frame.payload);
      if (frame.type === FROM_DAEMON.done) return frames;
      frames.push(frame);
    }
  };
  const start = async (command: Command, more: StartOptions = {}) => {
    const conversation = open(FROM_CLIENT.start, startPayload(command, more));
    const reader = createReader(await conversation.take(FROM_DAEMON.started));
    const [pid, credit, id] = [reader.u32(), reader.u32(), reader.str()];
    reader.end();
    return { ...conversation, pid, credit, id };
  };
  return {
    link,
    stream,
    open,
    ask,
    start,
    async call(command, { input, ...more } = {}) {
      const call = await start(command, { ...more, flags: (more.flags ?? 0) | (input === undefined ? 0 : 1) });
      const { last, stdout, stderr } = await (input === undefined ? call.finish() : call.feed(input, call.credit));
      return { ...readEnded(last.payload), stdout: stdout.toString(), stderr: stderr.toString() };
    },
    async process(command, more) {
      const conversation = await start(command, { ...more, kind: 1 });
      await conversation.take(FROM_DAEMON.done);
      return { id: conversation.id, pid: conversation.pid };
    },
    processes: async () => (await ask(FROM_CLIENT.processes)).map(({ payload }) => readProcess(payload)),
    wait: async (id) => readEnded(await open(FROM_CLIENT.wait, createWriter().str(id).done()).take(FROM_DAEMON.ended)),
    async status() {
      const [frame] = await ask(FROM_CLIENT.status);
      return readStatus(frame?.payload ?? Buffer.alloc(0));
    },
    async [Symbol.asyncDispose]() {
      stream.destroy();
      await link.closed;
    },
  };
}

function converse(link: DaemonLink, type: number, payload: Uint8Array): Conversation {
  const frames: Frame[] = [];
  let lost: Error | undefined;
  let wake: (() => void) | undefined;
  const changed = () => {
    wake?.();
    wake = undefined;
  };
  const channel = link.open(type, payload, {
    onFrame(frame) {
      frames.push({ ...frame, payload: Buffer.from(frame.payload) });
      changed();
      return LAST.includes(frame.type);
    },
    onLost(error) {
      lost = error;
      changed();
    },
  });
  const next = async (): Promise<Frame> => {
    for (;;) {
      const frame = frames.shift();
      if (frame !== undefined) return frame;
      if (lost !== undefined) throw lost;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const collect = async (granted: (bytes: number) => void): Promise<Finished> => {
    const streams: Record<number, Buffer[]> = { 1: [], 2: [] };
    for (;;) {
      const frame = await next();
      if (frame.type === FROM_DAEMON.failed) throw failure(frame.payload);
      if (LAST.includes(frame.type))
        return { last: frame, stdout: Buffer.concat(streams[1] ?? []), stderr: Buffer.concat(streams[2] ?? []) };
      if (frame.type === FROM_DAEMON.inputCredit) granted(createReader(frame.payload).u32());
      if (frame.type === FROM_DAEMON.output) streams[frame.payload[0] ?? 0]?.push(frame.payload.subarray(1));
    }
  };
  return {
    send: channel.send,
    next,
    async take(wanted) {
      const frame = await next();
      if (frame.type === FROM_DAEMON.failed && wanted !== FROM_DAEMON.failed) throw failure(frame.payload);
      if (frame.type !== wanted)
        throw new Error(`a frame of type ${frame.type} came instead of ${wanted}: ${frame.payload.subarray(0, 200)}`);
      return frame.payload;
    },
    async until(text) {
      let output = "";
      while (!output.includes(text)) {
        const frame = await next();
        if (LAST.includes(frame.type)) throw new Error(`it ended before it wrote ${JSON.stringify(text)}, with ${JSON.stringify(output)}`);
        if (frame.type === FROM_DAEMON.output) output += frame.payload.subarray(1).toString();
      }
      return output;
    },
    finish: () => collect(() => {}),
    feed(input, credit) {
      let at = 0;
      let left = 0;
      let over = false;
      const grant = (bytes: number) => {
        left += bytes;
        while (left > 0 && at < input.length) {
          const part = input.subarray(at, at + Math.min(left, LONGEST_INPUT));
          channel.send(FROM_CLIENT.input, part);
          at += part.length;
          left -= part.length;
        }
        if (at === input.length && !over) channel.send(FROM_CLIENT.inputEnd);
        over = at === input.length;
      };
      grant(credit);
      return collect(grant);
    },
  };
}
