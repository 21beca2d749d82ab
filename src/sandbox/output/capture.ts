/** @module The beginning and the end of a stream in bounded memory. */

/** Parts of the limit that go to the beginning and to the end: errors tend to stand at the end. */
const HEAD_SHARE = 0.4;
// Room for as many characters as are shown, and one more whose beginning may be cut off.
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
      const complete = headBuffer.length + tailBuffer.length === bytes;
      const whole = complete ? Buffer.concat([headBuffer, tailBuffer]) : null;
      const text = whole?.toString("utf8");
      if (text !== undefined && text.length <= limit) return { text, truncated: false };
      const first = beginning(whole ?? headBuffer, headChars);
      const last = ending(whole ?? tailBuffer, tailChars);
      return { text: first.text + marker(bytes - first.bytes - last.bytes) + last.text, truncated: true };
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

/** Up to `chars` characters from the beginning, and how many bytes they were. */
function beginning(buffer: Buffer, chars: number): { text: string; bytes: number } {
  const text = buffer.toString("utf8").slice(0, chars);
  const clean = endsInHalfPair(text) ? text.slice(0, -1) : text;
  return { text: clean, bytes: isExact(clean) ? Buffer.byteLength(clean) : bytesOf(buffer, clean.length) };
}

function ending(buffer: Buffer, chars: number): { text: string; bytes: number } {
  const all = buffer.toString("utf8");
  const text = all.slice(all.length - chars);
  const clean = beginsInHalfPair(text) ? text.slice(1) : text;
  return { text: clean, bytes: isExact(clean) ? Buffer.byteLength(clean) : buffer.length - bytesOf(buffer, all.length - clean.length) };
}

/** One replacement character may stand for one, two or three bytes that were no UTF-8. */
function isExact(text: string): boolean {
  return !text.includes("\ufffd");
}

/** How many bytes at the beginning of `buffer` make up `chars` characters: as many as do not make one more. */
function bytesOf(buffer: Buffer, chars: number): number {
  let low = 0;
  let high = buffer.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (buffer.toString("utf8", 0, middle).length > chars) high = middle - 1;
    else low = middle;
  }
  return low;
}

function endsInHalfPair(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

function beginsInHalfPair(text: string): boolean {
  const first = text.charCodeAt(0);
  return first >= 0xdc00 && first <= 0xdfff;
}
