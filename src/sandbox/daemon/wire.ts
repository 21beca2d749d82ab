/** @module The bytes of holdfastd's protocol: numbers, strings and frames, as docs/reference/protocol.md defines them. */
import { HoldfastError } from "../../base/errors.ts";

export const PROTOCOL_VERSION = 1;
export const LONGEST_FRAME = 262_144;
const HEADER_BYTES = 9;
const SHORTEST_FRAME = 5;
/** Several times the longest frame. */
const SLAB_BYTES = 1024 * 1024;
export const LONGEST_PAYLOAD = LONGEST_FRAME - SHORTEST_FRAME;

export interface Frame {
  readonly type: number;
  readonly channel: number;
  readonly payload: Buffer;
  /** The memory that the payload is in, where that can be used again. */
  readonly slab?: Slab;
}

export function encodeFrame(type: number, channel: number, payload: Uint8Array = new Uint8Array()): Buffer {
  return Buffer.concat([encodeHead(type, channel, payload), payload]);
}

/** Everything before the payload. */
export function encodeHead(type: number, channel: number, payload: Uint8Array): Buffer {
  const length = SHORTEST_FRAME + payload.length;
  if (length > LONGEST_FRAME) {
    throw new HoldfastError("invalid-input", `a message of ${length} bytes is longer than the daemon accepts (${LONGEST_FRAME})`, {
      facts: { length },
    });
  }
  const head = Buffer.allocUnsafe(HEADER_BYTES);
  head.writeUInt32LE(length, 0);
  head.writeUInt8(type, 4);
  head.writeUInt32LE(channel, 5);
  return head;
}

export interface FrameParser {
  /** Where the next bytes may be put; never empty. */
  space(): Uint8Array;
  /** That many bytes were put there: the frames that are complete now. @throws `protocol` for a length that no honest daemon sends. */
  received(bytes: number): Frame[];
  /** The same for bytes that are somewhere else. */
  push(chunk: Uint8Array): Frame[];
}

/**
 * Bytes are read into large slabs, and frames are pieces of these: nothing is copied but what is incomplete at the end of a slab. A slab whose
 * frames have all been freed is used again; one that still has readers is left to them.
 */
export function createFrameParser(): FrameParser {
  let slab = createSlab();
  let start = 0;
  let end = 0;

  const renew = () => {
    const incomplete = slab.bytes.subarray(start, end);
    const next = slab.readers === 0 ? slab : createSlab();
    incomplete.copy(next.bytes);
    slab = next;
    start = 0;
    end = incomplete.length;
  };
  const space = () => {
    // A frame of any length fits behind this point.
    if (slab.bytes.length - start < 4 + LONGEST_FRAME || end === slab.bytes.length) renew();
    return slab.bytes.subarray(end);
  };
  const received = (bytes: number) => {
    end += bytes;
    const frames: Frame[] = [];
    while (end - start >= 4) {
      const stop = start + 4 + checkedLength(slab.bytes.readUInt32LE(start));
      if (stop > end) break;
      const payload = slab.bytes.subarray(start + HEADER_BYTES, stop);
      slab.readers++;
      frames.push({ type: slab.bytes.readUInt8(start + 4), channel: slab.bytes.readUInt32LE(start + 5), payload, slab });
      start = stop;
    }
    return frames;
  };
  return {
    space,
    received,
    push(chunk) {
      const frames: Frame[] = [];
      for (let rest = chunk; rest.length > 0; ) {
        const room = space();
        const part = rest.subarray(0, room.length);
        room.set(part);
        frames.push(...received(part.length));
        rest = rest.subarray(part.length);
      }
      return frames;
    },
  };
}

/** The payload of the frame will not be looked at any more, so its memory may be used again. */
export function freeFrame({ slab }: Frame): void {
  if (slab) slab.readers--;
}

interface Slab {
  readonly bytes: Buffer;
  /** Frames in it that were not freed. */
  readers: number;
}

function createSlab(): Slab {
  return { bytes: Buffer.allocUnsafeSlow(SLAB_BYTES), readers: 0 };
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
