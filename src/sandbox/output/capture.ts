/** @module The beginning and the end of a stream in bounded memory. */

/** Parts of the limit that go to the beginning and to the end: errors tend to stand at the end. */
const HEAD_SHARE = 0.4;
const LONGEST_UTF8_CHARACTER = 4;

export interface CapturedText {
  readonly text: string;
  readonly truncated: boolean;
}

export interface Capture {
  add(chunk: Uint8Array): void;
  /** Bytes seen so far. */
  readonly bytes: number;
  /** Adds up to `limit` characters of text, with `marker(omittedBytes)` where something is missing. */
  text(marker: (omittedBytes: number) => string): CapturedText;
}

export function createCapture(limit: number): Capture {
  const headChars = Math.floor(limit * HEAD_SHARE);
  const tailChars = limit - headChars;
  const headCapacity = headChars * LONGEST_UTF8_CHARACTER;
  const tailCapacity = tailChars * LONGEST_UTF8_CHARACTER;
  const head: Uint8Array[] = [];
  const tail = createRing(tailCapacity);
  let headBytes = 0;
  let bytes = 0;

  return {
    get bytes() {
      return bytes;
    },
    add(chunk) {
      bytes += chunk.length;
      // Copied: the reader uses its buffer again.
      const first = new Uint8Array(chunk.subarray(0, headCapacity - headBytes));
      if (first.length > 0) head.push(first);
      headBytes += first.length;
      tail.add(chunk.subarray(first.length));
    },
    text(marker) {
      const headBuffer = Buffer.concat(head);
      const tailBuffer = tail.content();
      if (headBuffer.length + tailBuffer.length === bytes) {
        const whole = Buffer.concat([headBuffer, tailBuffer]).toString("utf8");
        if (whole.length <= limit) return { text: whole, truncated: false };
        return join(whole.slice(0, headChars), whole.slice(-tailChars), { bytes, marker });
      }
      const headText = headBuffer.toString("utf8").slice(0, headChars);
      const tailText = tailBuffer.subarray(startOfCharacter(tailBuffer)).toString("utf8").slice(-tailChars);
      return join(headText, tailText, { bytes, marker });
    },
  };
}

/** The last `capacity` bytes, in one buffer that is made when the first byte comes and never again. */
function createRing(capacity: number): { add(bytes: Uint8Array): void; content(): Buffer } {
  let ring: Buffer | undefined;
  let next = 0;
  let filled = 0;
  return {
    add(bytes) {
      if (bytes.length === 0) return;
      ring ??= Buffer.allocUnsafeSlow(capacity);
      const kept = bytes.subarray(Math.max(0, bytes.length - capacity));
      const untilEnd = Math.min(kept.length, capacity - next);
      ring.set(kept.subarray(0, untilEnd), next);
      ring.set(kept.subarray(untilEnd), 0);
      next = (next + kept.length) % capacity;
      filled = Math.min(capacity, filled + kept.length);
    },
    content() {
      if (ring === undefined) return Buffer.alloc(0);
      return filled < capacity ? ring.subarray(0, filled) : Buffer.concat([ring.subarray(next), ring.subarray(0, next)]);
    },
  };
}

function join(head: string, tail: string, { bytes, marker }: { bytes: number; marker: (omitted: number) => string }): CapturedText {
  const cleanHead = endsInHalfPair(head) ? head.slice(0, -1) : head;
  const cleanTail = beginsInHalfPair(tail) ? tail.slice(1) : tail;
  const omitted = Math.max(0, bytes - Buffer.byteLength(cleanHead) - Buffer.byteLength(cleanTail));
  return { text: cleanHead + marker(omitted) + cleanTail, truncated: true };
}

/** Skips the rest of a character whose beginning was dropped. */
function startOfCharacter(buffer: Uint8Array): number {
  let start = 0;
  while (start < LONGEST_UTF8_CHARACTER - 1 && ((buffer[start] ?? 0) & 0xc0) === 0x80) start++;
  return start;
}

function endsInHalfPair(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

function beginsInHalfPair(text: string): boolean {
  const first = text.charCodeAt(0);
  return first >= 0xdc00 && first <= 0xdfff;
}
