import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createCapture } from "./capture.ts";

const MARKER = "<…>";

/** What a capture with unlimited memory would say. */
function reference(bytes: Buffer, limit: number): { text: string; truncated: boolean; head: string; tail: string } {
  const whole = bytes.toString("utf8");
  if (whole.length <= limit) return { text: whole, truncated: false, head: whole, tail: "" };
  const cut = Math.floor(limit * 0.4);
  const head = whole.slice(0, cut).replace(/[\ud800-\udbff]$/, "");
  const tail = whole.slice(whole.length - (limit - cut)).replace(/^[\udc00-\udfff]/, "");
  return { text: head + MARKER + tail, truncated: true, head, tail };
}

/** Bytes that neither the head nor the tail shows, found the slow way. */
function missing(bytes: Buffer, head: string, tail: string): number {
  let first = bytes.length;
  while (bytes.toString("utf8", 0, first) !== head) first--;
  let last = 0;
  while (bytes.toString("utf8", last) !== tail) last++;
  return last - first;
}

function capture(bytes: Buffer, limit: number, sizes: readonly number[]) {
  const made = createCapture(limit);
  const reused = Buffer.alloc(4096);
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = Math.min(sizes[turn % sizes.length] ?? 1, bytes.length - at);
    // The same buffer again for each chunk, as the reader of a pipe does it.
    bytes.copy(reused, 0, at, at + size);
    made.add(reused.subarray(0, size));
    at += size;
  }
  let omitted = 0;
  const { text, truncated } = made.text((count) => {
    omitted = count;
    return MARKER;
  });
  return { text, truncated, omitted, bytes: made.bytes };
}

const chunkSizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 8 });
const limits = fc.integer({ min: 1, max: 120 });
const anyText = fc
  .array(fc.constantFrom("a", "é", "漢", "🙂", "\n", "e\u0301", "\ufeff", "\ufffd"), { maxLength: 900 })
  .map((characters) => Buffer.from(characters.join("")));
const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 900 }).map((bytes) => Buffer.from(bytes)),
  fc.array(fc.constantFrom(0x61, 0x80, 0xbf, 0xc3, 0xe6, 0xf0, 0x9f, 0xff), { maxLength: 900 }).map((bytes) => Buffer.from(bytes)),
);

describe("S34 the ends of a stream", () => {
  test.for([
    ["text", anyText],
    ["any bytes", anyBytes],
  ] as const)("are those of the whole %s, however it was chopped up, and what is missing is counted to the byte", ([, source]) => {
    fc.assert(
      fc.property(source, limits, chunkSizes, (bytes, limit, sizes) => {
        const { head, tail, ...expected } = reference(bytes, limit);
        const { omitted, ...actual } = capture(bytes, limit, sizes);
        expect(actual).toEqual({ ...expected, bytes: bytes.length });
        expect(omitted).toBe(expected.truncated ? missing(bytes, head, tail) : 0);
      }),
      { numRuns: 400 },
    );
  });

  test("share the limit 40 to 60", () => {
    const { text, omitted } = capture(Buffer.from("abcdefghijklmnopqrst"), 10, [3]);
    expect([text, omitted]).toEqual([`abcd${MARKER}opqrst`, 10]);
  });

  test("cost no more memory than a few times the limit", () => {
    const made = createCapture(1000);
    const before = process.memoryUsage().arrayBuffers;
    const chunk = Buffer.alloc(65_536, "x");
    for (let i = 0; i < 2000; i++) made.add(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000);
    expect(made.bytes).toBe(2000 * 65_536);
  });
});
