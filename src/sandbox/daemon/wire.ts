/** @module The bytes of holdfastd's protocol: numbers, strings and frames, as docs/reference/protocol.md defines them. */
import { HoldfastError } from "../../base/errors.ts";

export const PROTOCOL_VERSION = 1;
export const LONGEST_FRAME = 262_144;
const HEADER_BYTES = 9;
const SHORTEST_FRAME = 5;
export const LONGEST_PAYLOAD = LONGEST_FRAME - SHORTEST_FRAME;

export interface Frame {
  readonly type: number;
  readonly channel: number;
  readonly payload: Buffer;
}

export function encodeFrame(type: number, channel: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const length = SHORTEST_FRAME + payload.length;
  if (length > LONGEST_FRAME) {
    throw new HoldfastError("invalid-input", `a message of ${length} bytes is longer than the daemon accepts (${LONGEST_FRAME})`, {
      facts: { length },
    });
  }
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  frame.writeUInt32LE(length, 0);
  frame.writeUInt8(type, 4);
  frame.writeUInt32LE(channel, 5);
  frame.set(payload, HEADER_BYTES);
  return frame;
}

export interface FrameParser {
  /** The frames that are complete now. @throws `protocol` for a length that no honest daemon sends. */
  push(chunk: Uint8Array): Frame[];
}

/** Never holds more than one frame that is not complete. */
export function createFrameParser(): FrameParser {
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  let wanted = 4;

  return {
    push(chunk) {
      pending.push(chunk);
      pendingBytes += chunk.length;
      if (pendingBytes < wanted) return [];
      let rest = pending.length === 1 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length) : Buffer.concat(pending);
      const frames: Frame[] = [];
      for (;;) {
        wanted = rest.length < 4 ? 4 : 4 + checkedLength(rest.readUInt32LE(0));
        if (rest.length < wanted) break;
        frames.push({ type: rest.readUInt8(4), channel: rest.readUInt32LE(5), payload: rest.subarray(HEADER_BYTES, wanted) });
        rest = rest.subarray(wanted);
      }
      // Copied: what is left of a large chunk must not keep all of it alive.
      pending = rest.length === 0 ? [] : [Uint8Array.from(rest)];
      pendingBytes = rest.length;
      return frames;
    },
  };
}

function checkedLength(length: number): number {
  if (length >= SHORTEST_FRAME && length <= LONGEST_FRAME) return length;
  throw protocolError(`a frame of ${length} bytes`);
}

export function protocolError(what: string): HoldfastError {
  return new HoldfastError("protocol", `the daemon in the sandbox sent ${what}, which the protocol does not allow`, { facts: { what } });
}

/** Collects the fields of a payload. */
export function createWriter() {
  const parts: Uint8Array[] = [];
  const number = (bytes: number, write: (buffer: Buffer) => void) => {
    const buffer = Buffer.allocUnsafe(bytes);
    write(buffer);
    parts.push(buffer);
    return writer;
  };
  const writer = {
    u8: (value: number) => number(1, (buffer) => buffer.writeUInt8(value)),
    u16: (value: number) => number(2, (buffer) => buffer.writeUInt16LE(value)),
    u32: (value: number) => number(4, (buffer) => buffer.writeUInt32LE(value)),
    u64: (value: number) => number(8, (buffer) => buffer.writeBigUInt64LE(BigInt(value))),
    bytes(value: Uint8Array) {
      parts.push(value);
      return writer;
    },
    str(value: string | Uint8Array) {
      const bytes = typeof value === "string" ? Buffer.from(value) : value;
      return writer.u32(bytes.length).bytes(bytes);
    },
    list(values: readonly string[]) {
      writer.u32(values.length);
      for (const value of values) writer.str(value);
      return writer;
    },
    done: (): Buffer => Buffer.concat(parts),
  };
  return writer;
}

/** Takes the fields of a payload apart; one that is too short or too long is a broken protocol. */
export function createReader(payload: Buffer) {
  let offset = 0;
  const take = (bytes: number): Buffer => {
    if (offset + bytes > payload.length) throw protocolError("a message that is too short");
    offset += bytes;
    return payload.subarray(offset - bytes, offset);
  };
  const reader = {
    u8: () => take(1).readUInt8(),
    u16: () => take(2).readUInt16LE(),
    u32: () => take(4).readUInt32LE(),
    /** Sizes and times stay far below 2^53; a larger number is a lie. */
    u64() {
      const value = take(8).readBigUInt64LE();
      if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw protocolError("a number beyond all sense");
      return Number(value);
    },
    bytes: (count: number) => take(count),
    rest: () => take(payload.length - offset),
    str: () => take(reader.u32()).toString("utf8"),
    raw: () => take(reader.u32()),
    list: (): string[] => {
      const count = reader.u32();
      // Each entry has at least its length, which bounds a count that is made up.
      if (count > (payload.length - offset) / 4) throw protocolError("a list longer than its message");
      return Array.from({ length: count }, () => reader.str());
    },
    end() {
      if (offset !== payload.length) throw protocolError("a message that is too long");
    },
  };
  return reader;
}
