/** @module All writing to the terminal: data on standard output, everything else on standard error. */
import type { Readable, Writable } from "node:stream";
import { HoldfastError, systemCode } from "../base/errors.ts";
import type { LogRecord } from "../base/log.ts";
import { withoutPassword } from "../base/without-password.ts";
import type { OutputStream } from "../sandbox/driver.ts";
import type { TerminalSize } from "../sandbox/process.ts";
import type { KeyInput, ScreenOutput } from "./screen.ts";

const RED = "\u001b[31m";
const YELLOW = "\u001b[33m";
const BOLD = "\u001b[1m";
const RESET = "\u001b[0m";

/** Where a text comes from outside and should be one line, its control characters are shown instead of obeyed. */
export interface Terminal {
  /** One or more lines of data. */
  line(text: string): void;
  json(value: unknown): void;
  /** One of many values, on a line of its own; a promise takes as long as the reader. */
  jsonLine(value: unknown): void | Promise<void>;
  /** Columns as wide as their content; nothing but the heading when there are no rows. */
  table(headings: readonly string[], rows: readonly (readonly string[])[]): void;
  /** One line about something. */
  fact(name: string, value: string): void;
  /** Several lines from outside, each behind the same blanks, so that none of them can be taken for one of ours. */
  text(text: string, options?: { indent?: number }): void;
  /** Bytes as they are. They must stay untouched until the call returns, or until its promise settles, which takes as long as the reader. */
  bytes(chunk: Uint8Array, stream: OutputStream): void | Promise<void>;
  /** Something the user should know, beside the data. */
  note(text: string): void;
  warn(text: string): void;
  error(error: HoldfastError, options: { json: boolean; debug: boolean }): void;
  log(record: LogRecord): void;
  /** What is typed or piped into the program. */
  readonly input: Readable;
  /** Its two ends, for `openScreen`. */
  readonly ends: { readonly input: KeyInput; readonly output: ScreenOutput };
  /** What fits on standard output; null where it is not a terminal, or one that does not tell. */
  readonly size: TerminalSize | null;
  /** Somebody sits in front of it and can answer. */
  readonly interactive: boolean;
  /**
   * The answer; empty when there is none because the input has ended.
   * @throws `aborted`, with the fact `signal`, after Ctrl-C
   */
  ask(question: string): Promise<string>;
  /** Why standard output takes nothing any more: its reader has gone away (`| head`), so has its terminal, or writing failed (a full disk). */
  readonly outputLoss: "reader gone" | "terminal gone" | Error | null;
  /** Called once when that happens. */
  onOutputLoss(callback: () => void): void;
  /** Its reader has not taken all of the output yet. */
  readonly outputPending: boolean;
  /** From now on nobody waits for a reader that does not read. */
  abandonOutput(): void;
  /** Resolves when everything has been handed to the system, as far as somebody takes it. */
  flush(): Promise<void>;
}

export interface TerminalOptions {
  /** Asked for only when it is needed: opening the process's own input takes time. */
  stdin: () => KeyInput;
  stdout: ScreenOutput;
  stderr: Writable & { isTTY?: boolean };
  /** The value of NO_COLOR: any text but the empty one turns colours off. */
  noColor: string | undefined;
}

export function createTerminal({ stdin, stdout, stderr, noColor }: TerminalOptions): Terminal {
  const coloured = Boolean(stderr.isTTY) && !noColor;
  const paint = (colour: string, text: string) => (coloured ? `${colour}${text}${RESET}` : text);
  let outputLoss: Terminal["outputLoss"] = null;
  const lossCallbacks: (() => void)[] = [];
  const waiting = new Set<() => void>();
  let abandoned = false;
  stdout.on("error", (error) => {
    const code = systemCode(error);
    outputLoss ??= code === "EPIPE" ? "reader gone" : code === "EIO" && stdout.isTTY ? "terminal gone" : error;
    for (const callback of lossCallbacks.splice(0)) callback();
  });
  // Nobody is left to tell when standard error is closed.
  stderr.on("error", () => {});
  /** The stream may hold the chunk after `write`, whatever that returns, so its callback is what counts. It also comes with an error. */
  const write = (stream: Writable, chunk: Uint8Array | string): undefined | Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = () => {
      waiting.delete(stop);
      resolve();
    };
    stream.write(chunk, stop);
    if (stream.writableLength === 0 || abandoned) return undefined;
    waiting.add(stop);
    return promise;
  };
  const line = (text: string) => void stdout.write(`${text}\n`);
  const say = (text: string) => void stderr.write(`${text}\n`);

  return {
    line,
    json: (value) => line(visibleLines(JSON.stringify(value, null, 2))),
    jsonLine: (value) => write(stdout, `${visible(JSON.stringify(value))}\n`),
    table(headings, rows) {
      for (const row of alignColumns([headings, ...rows])) line(row);
    },
    fact: (name, value) => line(`${name}: ${visible(value)}`),
    text(text, { indent = 2 } = {}) {
      for (const each of text.split(/\r?\n/)) line(`${" ".repeat(indent)}${each.split("\t").map(visible).join("\t")}`.trimEnd());
    },
    bytes: (chunk, stream) => write(stream === "stdout" ? stdout : stderr, chunk),
    note: (text) => say(`note: ${visible(text)}`),
    warn: (text) => say(`${paint(YELLOW, "warning:")} ${visible(text)}`),
    error(error, { json, debug }) {
      if (json) say(visible(JSON.stringify({ error })));
      else {
        say(`${paint(RED, "error:")} ${visible(error.message)}`);
        say(`${paint(BOLD, "hint:")} ${visible(error.hint)}`);
      }
      if (debug) say(withCauses(error));
    },
    log: ({ time, level, message, fields }) =>
      say(visible(`${new Date(time).toISOString()} ${level} ${message} ${JSON.stringify(fields)}`)),
    get input() {
      return stdin();
    },
    get ends() {
      return { input: stdin(), output: stdout };
    },
    get size() {
      const { isTTY, rows, columns } = stdout;
      return isTTY && rows && columns ? { rows, columns } : null;
    },
    get interactive() {
      return Boolean(stderr.isTTY && stdin().isTTY);
    },
    async ask(question) {
      // Not needed by any call that does not ask.
      const { createInterface } = await import("node:readline/promises");
      const reader = createInterface({ input: stdin(), output: stderr });
      const { promise: unanswered, resolve, reject } = Promise.withResolvers<string>();
      reader.once("close", () => resolve(""));
      reader.once("SIGINT", () => reject(new HoldfastError("aborted", "interrupted", { facts: { signal: "SIGINT" } })));
      try {
        return (await Promise.race([reader.question(`${visible(question)} `), unanswered])).trim();
      } finally {
        reader.close();
      }
    },
    get outputLoss() {
      return outputLoss;
    },
    onOutputLoss(callback) {
      if (outputLoss) callback();
      else lossCallbacks.push(callback);
    },
    get outputPending() {
      return outputLoss === null && stdout.writableLength > 0;
    },
    abandonOutput() {
      abandoned = true;
      for (const stop of waiting) stop();
    },
    async flush() {
      await Promise.all([write(stdout, ""), write(stderr, "")]);
      // A failed write is reported one turn later.
      await new Promise(setImmediate);
    },
  };
}

/** Also used by the program itself: the only place that knows the process's own streams. */
export function processTerminal(noColor: string | undefined): Terminal {
  return createTerminal({ stdin: () => process.stdin, stdout: process.stdout, stderr: process.stderr, noColor });
}

/** For `--version`, which must not wait for anything else to load. */
export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const cells = rows.map((row) => row.map(visible));
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))) ?? [];
  return cells.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

/**
 * A directory may be called anything, line breaks, commands to the terminal and changes of the writing direction included.
 * In JSON, what this puts in their place means the same.
 */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    const escaped = JSON.stringify(character).slice(1, -1);
    return escaped === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}` : escaped;
  });
}

function visibleLines(text: string): string {
  return text.split("\n").map(visible).join("\n");
}

function withCauses(error: HoldfastError): string {
  const parts: string[] = [];
  for (let current: unknown = error; current !== undefined; current = current instanceof Error ? current.cause : undefined) {
    const facts = HoldfastError.isInstance(current) ? ` ${visible(JSON.stringify(current.facts))}` : "";
    parts.push((current instanceof Error ? stackOf(current) : visible(String(current))) + facts);
  }
  // What others throw quotes what it likes.
  return withoutPassword(parts.join("\ncaused by: "));
}

/** The lines of a stack are ours, those of the message in it are not. */
function stackOf({ message, stack = message }: Error): string {
  return visibleLines(stack.replace(message, () => visible(message)));
}
