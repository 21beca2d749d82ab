import { expect, test } from "vitest";
import { createManualClock } from "../../test/helpers/manual-clock.ts";
import type { ExitStatus } from "./driver.ts";
import type { LogChunk, ProcessEvent, WatchOptions } from "./process.ts";
import { watchLines } from "./watch.ts";

const ENDED = { exitCode: 0, signal: null };

/** Each text follows the one before it, unless it says where it begins. */
async function* log(
  ...parts: (string | { at: number; text: string } | (() => Promise<void>))[]
): AsyncGenerator<LogChunk, ExitStatus | null> {
  let end = 0;
  for (const part of parts) {
    if (typeof part === "function") {
      await part();
      continue;
    }
    const { at, text } = typeof part === "string" ? { at: end, text: part } : part;
    const bytes = Buffer.from(text, "latin1");
    yield { bytes, offset: at };
    end = at + bytes.length;
  }
  return ENDED;
}

async function watch(source: ReturnType<typeof log>, options: WatchOptions, clock = createManualClock()): Promise<ProcessEvent[]> {
  const events: ProcessEvent[] = [];
  for await (const event of watchLines(source, options, clock)) events.push(event);
  return events;
}

const linesOf = (events: readonly ProcessEvent[]) => events.flatMap((event) => (event.kind === "match" ? [event.line] : []));

test("lines come whole, however their bytes are cut, with where they begin", async () => {
  const events = await watch(log("on", "e x\r\ntw", "o x", "\n\n", "three x"), { patterns: ["x"] });
  expect(events).toEqual([
    { kind: "match", line: "one x", pattern: "x", offset: 0, suppressed: 0 },
    { kind: "match", line: "two x", pattern: "x", offset: 7, suppressed: 0 },
    { kind: "match", line: "three x", pattern: "x", offset: 14, suppressed: 0 },
    { kind: "ended", status: ENDED, suppressed: 0 },
  ]);
});

test("a pattern that remembers where it was matches every line", async () => {
  const pattern = /a/g;
  pattern.lastIndex = 1;
  expect(linesOf(await watch(log("a\na\na\n"), { patterns: [pattern] }))).toEqual(["a", "a", "a"]);
  expect(linesOf(await watch(log("a\nba\na\n"), { patterns: [/a/y] }))).toEqual(["a", "a"]);
  expect(pattern.lastIndex).toBe(1);
});

test("a line that is too long is cut, and the next one is whole again", async () => {
  const events = await watch(log("x".repeat(60_000), `${"x".repeat(60_000)}late\n`, "short x\n"), { patterns: ["late", "x"] });
  expect(linesOf(events).map((line) => line.length)).toEqual([65_536, 7]);
  expect(events.map((event) => event.kind === "match" && [event.pattern, event.offset])).toEqual([["x", 0], ["x", 120_005], false]);
});

test("what was dropped in the middle joins no lines", async () => {
  const events = await watch(log("begin", { at: 100, text: "end\nwhole\n" }), { patterns: [/./] });
  expect(events.map((event) => event.kind === "match" && [event.line, event.offset])).toEqual([["end", 100], ["whole", 104], false]);
});

test("no more are told than the limit within a period; the others are counted", async () => {
  const clock = createManualClock();
  const wait = (ms: number) => () => clock.advance(ms);
  const source = log("x1\nx2\nx3\nx4\n", wait(999), "x5\n", wait(1), "x6\n", "x7\n", "x8\n");
  const events = await watch(source, { patterns: ["x"], maxMatches: 2, periodMs: 1_000 }, clock);
  expect(events.map((event) => [event.kind === "match" ? event.line : "ended", event.suppressed])).toEqual([
    ["x1", 0],
    ["x2", 0],
    ["x6", 3],
    ["x7", 0],
    ["ended", 1],
  ]);
});

test("breaking off lets go of the log", async () => {
  let open = true;
  async function* endless(): AsyncGenerator<LogChunk, null> {
    try {
      for (let offset = 0; ; offset += 2) yield { bytes: Buffer.from("x\n"), offset };
    } finally {
      open = false;
    }
  }
  for await (const _ of watchLines(endless(), { patterns: ["x"] }, createManualClock())) break;
  expect(open).toBe(false);
});
