import { expect, test } from "vitest";
import { splitFrames } from "./frames.ts";

const TOKEN = "t0k3n";
const framed = (text: string) => `\u0006${TOKEN} ${text}\u0007`;

/** Frames in brackets, and all that lies between them in one piece. */
async function split(chunks: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  let between = "";
  for await (const piece of splitFrames(stream(chunks), TOKEN)) {
    if (typeof piece !== "string") between += Buffer.from(piece).toString("latin1");
    else {
      found.push(between, `[${piece}]`);
      between = "";
    }
  }
  return [...found, between];
}

async function* stream(chunks: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk, "latin1");
}

const TEXT = `before${framed("+12 7")}out\u0006${TOKEN}\u0006t0k${framed("=0")}behind`;
const WHOLE = ["before", "[+12 7]", `out\u0006${TOKEN}\u0006t0k`, "[=0]", "behind"];

test("frames are found wherever the chunks are cut", async () => {
  expect(await split([TEXT])).toEqual(WHOLE);
  expect(await split([...TEXT])).toEqual(WHOLE);
  for (let cut = 1; cut < TEXT.length; cut++) expect(await split([TEXT.slice(0, cut), TEXT.slice(cut)])).toEqual(WHOLE);
});

test("what looks like a frame but is none passes, also at the end", async () => {
  for (const text of ["\u0006", `\u0006${TOKEN}`, `\u0006${TOKEN} never closed`, `${TOKEN} =0\u0007`, `\u0006other =0\u0007`])
    expect(await split([text])).toEqual([text]);
});

test("bytes are handed on at once, as far as they cannot belong to a frame", async () => {
  const pieces = splitFrames(stream(["said\u0006t0", "never"]), TOKEN);
  expect((await pieces.next()).value).toEqual(Buffer.from("said"));
});
