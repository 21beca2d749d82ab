/** @module The content of one file on its way, counted and limited. */
import { PassThrough, type Readable } from "node:stream";
import { HoldfastError } from "../base/errors.ts";

/** Counts, and breaks off when it is too much. */
export function bounded(
  content: Readable,
  { maxBytes }: { readonly maxBytes?: number | undefined },
): { stream: Readable; count(): number } {
  let bytes = 0;
  const stream = new PassThrough({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (maxBytes === undefined || bytes <= maxBytes) done(null, chunk);
      else done(new HoldfastError("too-large", `the file has more than ${maxBytes} bytes`, { facts: { maxBytes } }));
    },
  });
  // The content may fail before anybody reads the stream; whoever reads it then is still told.
  stream.on("error", () => {});
  content.on("error", (error) => stream.destroy(error));
  stream.on("close", () => content.destroy());
  return { stream: content.pipe(stream), count: () => bytes };
}
