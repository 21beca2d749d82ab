/** @module All writing to the terminal: data on standard output, everything else on standard error. */
import { createInterface } from "node:readline/promises";
import type { Writable } from "node:stream";
import { HoldfastError } from "../base/errors.ts";
import type { LogRecord } from "../base/log.ts";
import type { OutputStream } from "../sandbox/driver.ts";

const RED = "\u001b[31m";
const YELLOW = "\u001b[33m";
const BOLD = "\u001b[1m";
const RESET = "\u001b[0m";

export interface Terminal {
  /** One or more lines of data. */
  line(text: string): void;
  json(value: unknown): void;
  /** Columns as wide as their content; nothing but the heading when there are no rows. */
  table(headings: readonly string[], rows: readonly (readonly string[])[]): void;
  /** Bytes as they are, held back while the reader is slow. */
  bytes(chunk: Uint8Array, stream: OutputStream): void | Promise<void>;
  /** Something the user should know, beside the data. */
  note(text: string): void;
  warn(text: string): void;
  error(error: HoldfastError, options: { json: boolean; debug: boolean }): void;
  log(record: LogRecord): void;
  /** Somebody sits in front of it and can answer. */
  readonly interactive: boolean;
  ask(question: string): Promise<string>;
  /** Called once when the reader of standard output has gone away (`| head`). */
  onReaderGone(callback: () => void): void;
  readonly readerGone: boolean;
  /** Resolves when everything has been handed to the system. */
  flush(): Promise<void>;
}

export interface TerminalOptions {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  /** The value of NO_COLOR: any text but the empty one turns colours off. */
  noColor: string | undefined;
}

export function createTerminal({ stdin, stdout, stderr, noColor }: TerminalOptions): Terminal {
  const coloured = Boolean(stderr.isTTY) && !noColor;
  const paint = (colour: string, text: string) => (coloured ? `${colour}${text}${RESET}` : text);
  let readerGone = false;
  const goneCallbacks: (() => void)[] = [];
  const onOutputError = (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    readerGone = true;
    for (const callback of goneCallbacks.splice(0)) callback();
  };
  stdout.on("error", onOutputError);
  // Nobody is left to tell when standard error is closed.
  stderr.on("error", () => {});
  const line = (text: string) => void stdout.write(`${text}\n`);
  const say = (text: string) => void stderr.write(`${text}\n`);

  return {
    line,
    json: (value) => line(JSON.stringify(value, null, 2)),
    table(headings, rows) {
      for (const row of alignColumns([headings, ...rows])) line(row);
    },
    bytes: (chunk, stream) => write(stream === "stdout" ? stdout : stderr, chunk),
    note: (text) => say(`note: ${text}`),
    warn: (text) => say(`${paint(YELLOW, "warning:")} ${text}`),
    error(error, { json, debug }) {
      if (json) say(JSON.stringify({ error }));
      else {
        say(`${paint(RED, "error:")} ${error.message}`);
        say(`${paint(BOLD, "hint:")} ${error.hint}`);
      }
      if (debug) say(withCauses(error));
    },
    log: ({ time, level, message, fields }) => say(`${new Date(time).toISOString()} ${level} ${message} ${JSON.stringify(fields)}`),
    interactive: Boolean(stdin.isTTY && stderr.isTTY),
    async ask(question) {
      const reader = createInterface({ input: stdin, output: stderr });
      try {
        return (await reader.question(`${question} `)).trim();
      } finally {
        reader.close();
      }
    },
    onReaderGone(callback) {
      if (readerGone) callback();
      else goneCallbacks.push(callback);
    },
    get readerGone() {
      return readerGone;
    },
    async flush() {
      await Promise.all([stdout, stderr].map(drained));
    },
  };
}

/** Also used by the program itself: the only place that knows the process's own streams. */
export function processTerminal(noColor: string | undefined): Terminal {
  return createTerminal({ stdin: process.stdin, stdout: process.stdout, stderr: process.stderr, noColor });
}

/** For `--version`, which must not wait for anything else to load. */
export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

function write(stream: Writable, chunk: Uint8Array): void | Promise<void> {
  if (stream.write(chunk) || stream.destroyed) return undefined;
  return new Promise((resolve) => {
    const go = () => {
      stream.off("drain", go);
      stream.off("error", go);
      stream.off("close", go);
      resolve();
    };
    stream.once("drain", go);
    stream.once("error", go);
    stream.once("close", go);
  });
}

/** Writing an empty chunk calls back after everything before it, or with an error when nobody reads any more. */
function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableLength === 0) resolve();
    else stream.write("", () => resolve());
  });
}

function withCauses(error: HoldfastError): string {
  const parts: string[] = [];
  for (let current: unknown = error; current !== undefined; current = current instanceof Error ? current.cause : undefined) {
    const facts = HoldfastError.isInstance(current) ? ` ${JSON.stringify(current.facts)}` : "";
    parts.push((current instanceof Error ? (current.stack ?? current.message) : String(current)) + facts);
  }
  return parts.join("\ncaused by: ");
}
