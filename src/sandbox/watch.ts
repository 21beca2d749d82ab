/** @module Lines of a process's output that match a pattern, no more of them than a person can read. */
import type { Clock } from "../base/clock.ts";
import type { ExitStatus } from "./driver.ts";
import type { LogChunk, ProcessEvent, WatchOptions } from "./process.ts";

const LONGEST_LINE = 64 * 1024;
const LINE_BREAK = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const MAX_MATCHES = 8;
const PERIOD_MS = 10_000;

interface Line {
  readonly text: string;
  readonly offset: number;
}

export async function* watchLines(
  log: AsyncGenerator<LogChunk, ExitStatus | null>,
  { patterns, maxMatches = MAX_MATCHES, periodMs = PERIOD_MS }: WatchOptions,
  clock: Clock,
): AsyncGenerator<ProcessEvent, void> {
  const find = createMatcher(patterns);
  const splitter = createLineSplitter();
  const limit = createRateLimit({ maxMatches, periodMs }, clock);
  let suppressed = 0;
  function* match(lines: Iterable<Line>): Generator<ProcessEvent> {
    for (const { text, offset } of lines) {
      const pattern = find(text);
      if (pattern === undefined) continue;
      if (limit.allows()) {
        yield { kind: "match", line: text, pattern, offset, suppressed };
        suppressed = 0;
      } else {
        suppressed++;
      }
    }
  }
  try {
    let step = await log.next();
    for (; !step.done; step = await log.next()) yield* match(splitter.add(step.value));
    yield* match(splitter.end());
    if (step.value) yield { kind: "ended", status: { exitCode: step.value.exitCode, signal: step.value.signal }, suppressed };
  } finally {
    await log.return(null);
  }
}

/** Which pattern a line matches, if any. */
function createMatcher(patterns: WatchOptions["patterns"]): (line: string) => string | undefined {
  // Copies: a pattern with the flag `g` or `y` remembers where it was, and belongs to the caller.
  const own = patterns.map((pattern) => ({ name: String(pattern), pattern: typeof pattern === "string" ? pattern : new RegExp(pattern) }));
  return (line) =>
    own.find(({ pattern }) => {
      if (typeof pattern === "string") return line.includes(pattern);
      pattern.lastIndex = 0;
      return pattern.test(line);
    })?.name;
}

/** Lines without their break, and without a carriage return before it. Of a line that is too long, only the beginning is kept. */
export function createLineSplitter() {
  let parts: Uint8Array[] = [];
  let kept = 0;
  let start = 0;
  let position = 0;
  const keep = (bytes: Uint8Array) => {
    const part = bytes.subarray(0, LONGEST_LINE - kept);
    if (part.length === 0) return;
    kept += part.length;
    // Copied: a few bytes must not keep a large chunk alive.
    parts.push(Uint8Array.from(part));
  };
  const cut = (): Line => {
    const bytes = Buffer.concat(parts);
    const end = bytes.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length;
    const line = { text: bytes.toString("utf8", 0, end), offset: start };
    parts = [];
    kept = 0;
    return line;
  };
  return {
    *add({ bytes, offset }: LogChunk): Generator<Line> {
      // What was dropped in between may have held the end of the line.
      if (offset !== position) {
        parts = [];
        kept = 0;
        start = offset;
      }
      let from = 0;
      for (let at = bytes.indexOf(LINE_BREAK); at >= 0; at = bytes.indexOf(LINE_BREAK, from)) {
        keep(bytes.subarray(from, at));
        yield cut();
        from = at + 1;
        start = offset + from;
      }
      keep(bytes.subarray(from));
      position = offset + bytes.length;
    },
    /** What stands behind the last line break. */
    *end(): Generator<Line> {
      if (kept > 0) yield cut();
    },
  };
}

/** At most so many within any stretch of the period. */
function createRateLimit({ maxMatches, periodMs }: { maxMatches: number; periodMs: number }, clock: Clock) {
  const recent: number[] = [];
  return {
    allows(): boolean {
      const now = clock.monotonic();
      while (recent[0] !== undefined && recent[0] <= now - periodMs) recent.shift();
      if (recent.length >= maxMatches) return false;
      recent.push(now);
      return true;
    },
  };
}
