/** @module The output of a background process on the command line: read, followed, watched for patterns. */

import type { App } from "../app/create-app.ts";
import { findProcess } from "../app/find-process.ts";
import { HoldfastError } from "../base/errors.ts";
import type { ProcessEvent, WatchOptions } from "../sandbox/process.ts";
import { interruptible } from "./interruptible.ts";
import type { Terminal } from "./render.ts";

export interface ShowOptions {
  readonly task: string;
  readonly wanted: string;
  readonly json: boolean;
}

export interface ShowLogsOptions extends ShowOptions {
  /** Negative: that many before the end. */
  readonly from: number;
  readonly follow: boolean;
}

/** The bytes as they are, or with `json` one object per stretch. */
export function showLogs(app: App, terminal: Terminal, { task, wanted, json, from, follow }: ShowLogsOptions): Promise<number> {
  return interruptible(terminal, async (signal) => {
    const { processes, info } = await findProcess(app, task, wanted);
    // A character may be cut in two by the end of a stretch.
    const decoder = new TextDecoder();
    let next = Math.max(from, 0);
    for await (const { bytes, offset } of processes.logs(info.id, { from, follow, signal })) {
      const known = from >= 0 || next > 0;
      if (known && offset > next)
        terminal.note(`${offset - next} bytes of output were dropped here, because there was no room to keep them`);
      next = offset + bytes.length;
      if (json) await terminal.jsonLine({ offset, length: bytes.length, text: decoder.decode(bytes, { stream: true }) });
      else await terminal.bytes(bytes, "stdout");
    }
    return 0;
  });
}

export interface ShowMatchesOptions extends ShowOptions, Pick<WatchOptions, "patterns" | "from" | "maxMatches" | "periodMs"> {
  /** How many matches are enough; without it, all of them are shown. */
  readonly count: number | undefined;
}

/** Of a process that ended well, but before there were enough matches. */
const EXIT_TOO_FEW = 1;

/** One line per match; the status is that of the process, or 0 after enough matches. */
export function showMatches(app: App, terminal: Terminal, { task, wanted, json, count, ...options }: ShowMatchesOptions): Promise<number> {
  return interruptible(terminal, async (signal) => {
    const { processes, info } = await findProcess(app, task, wanted);
    let left = count ?? Number.POSITIVE_INFINITY;
    for await (const event of processes.watch(info.id, { ...options, signal })) {
      if (json) await terminal.jsonLine(event);
      else await showEvent(terminal, event);
      if (event.kind === "ended") return event.status.exitCode || (count === undefined ? 0 : EXIT_TOO_FEW);
      if (--left === 0) return 0;
    }
    throw new HoldfastError("internal", `watching process ${info.id} ended before the process`);
  });
}

async function showEvent(terminal: Terminal, event: ProcessEvent): Promise<void> {
  if (event.suppressed > 0) terminal.note(`${event.suppressed} more matches came too fast to be shown`);
  if (event.kind === "match") await terminal.bytes(Buffer.from(`${event.line}\n`), "stdout");
}

/** Plain text fits anywhere in a line. */
export function parsePatterns(texts: readonly string[], regex: boolean): (string | RegExp)[] {
  if (texts.length === 0 || texts.includes("")) {
    throw new HoldfastError("usage", "--match needs a text to look for", { hint: "for example --match 'listening on'" });
  }
  return texts.map((text) => (regex ? parseRegex(text) : text));
}

function parseRegex(text: string): RegExp {
  try {
    return new RegExp(text, "u");
  } catch (error) {
    throw new HoldfastError("usage", `--match ${JSON.stringify(text)} is not a regular expression`, {
      hint: "without --regex it is taken as plain text",
      cause: error,
    });
  }
}
