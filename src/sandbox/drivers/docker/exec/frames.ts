/** @module Tells apart, in one stream, what a program writes from what the shells around it say. */

/** Around a word that nobody else knows. Written as bytes, so that a list of arguments with that word in it does not pass for one. */
export const FRAME_OPEN = 0x06;
export const FRAME_CLOSE = 0x07;

/** Frames as strings, and all else as it comes. A few bytes that look like the beginning of a frame are held back until it is clear. */
export async function* splitFrames(chunks: AsyncIterable<Uint8Array>, token: string): AsyncGenerator<string | Uint8Array, void> {
  const opening = Buffer.concat([Buffer.from([FRAME_OPEN]), Buffer.from(`${token} `)]);
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength) : Buffer.concat([rest, chunk]);
    for (let whole = true; whole; ) {
      const start = rest.indexOf(opening);
      const sure = start === -1 ? rest.length - beginningOf(opening, rest) : start;
      if (sure > 0) yield rest.subarray(0, sure);
      rest = rest.subarray(sure);
      const end = start === -1 ? -1 : rest.indexOf(FRAME_CLOSE);
      whole = end !== -1;
      if (!whole) break;
      yield rest.toString("latin1", opening.length, end);
      rest = rest.subarray(end + 1);
    }
  }
  if (rest.length > 0) yield rest;
}

/** How many of the last bytes could be the first ones of `opening`. */
function beginningOf(opening: Buffer, bytes: Buffer): number {
  for (let length = Math.min(opening.length - 1, bytes.length); length > 0; length--)
    if (bytes.subarray(bytes.length - length).equals(opening.subarray(0, length))) return length;
  return 0;
}
