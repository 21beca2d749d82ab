/** @module What the methods of background processes accept: everything is checked before anything is sent. */
import { constants } from "node:os";
import { CALLBACK, checkFields, checkInput, FLAG, type InputType, MAP, NUMBER, TEXT } from "../base/check-input.ts";
import { HoldfastError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import type { AttachOptions, LogOptions, ProcessOptions, TerminalSize, WatchOptions } from "./process.ts";

const ID = /^p_[0-9a-f]{8}$/;
const LONGEST_NAME = 256;
const LEAST_KEPT = 4_096;
const LARGEST_SIZE = 65_535;
const LARGEST_U32 = 2 ** 32 - 1;
const BYTES: InputType = { expected: "a string or bytes", fits: (value) => TEXT.fits(value) || value instanceof Uint8Array };
const SIGNAL: InputType = { expected: "an AbortSignal", fits: (value) => value instanceof AbortSignal };

const PROCESS: Readonly<Record<keyof ProcessOptions, InputType>> = {
  name: TEXT,
  session: TEXT,
  cwd: TEXT,
  env: MAP,
  stdin: FLAG,
  tty: MAP,
  keepBytes: NUMBER,
};
const LOG: Readonly<Record<keyof LogOptions, InputType>> = { from: NUMBER, follow: FLAG, signal: SIGNAL };
const WATCH: Readonly<Record<keyof WatchOptions, InputType>> = {
  patterns: {
    expected: "an array of strings and regular expressions, at least one",
    fits: (value) => Array.isArray(value) && value.length > 0 && value.every((entry) => TEXT.fits(entry) || entry instanceof RegExp),
  },
  from: NUMBER,
  maxMatches: NUMBER,
  periodMs: NUMBER,
  signal: SIGNAL,
};

export function checkProcessOptions(options: ProcessOptions): void {
  checkFields("options", options, PROCESS);
  const { name = "", keepBytes = 0, tty } = options;
  if (Buffer.byteLength(name) > LONGEST_NAME || name.includes("\0")) {
    throw new HoldfastError("invalid-input", `the name of a process has at most ${LONGEST_NAME} bytes and no NUL`, { facts: { name } });
  }
  checkWhole("keepBytes", keepBytes);
  if (keepBytes > 0 && keepBytes < LEAST_KEPT) {
    throw new HoldfastError("invalid-input", `keepBytes must be 0 or at least ${LEAST_KEPT}, and is ${keepBytes}`, {
      facts: { keepBytes },
    });
  }
  if (tty) checkSize("tty", tty);
}

export function checkLogOptions(options: LogOptions): void {
  checkFields("options", options, LOG);
  checkWhole("from", Math.abs(options.from ?? 0));
}

export function checkWatchOptions(options: WatchOptions): void {
  checkFields("options", options, WATCH);
  checkInput("patterns", options.patterns, WATCH.patterns);
  checkWhole("from", Math.abs(options.from ?? 0));
  checkWhole("maxMatches", options.maxMatches ?? 1, { least: 1 });
  checkWhole("periodMs", options.periodMs ?? 1, { least: 1 });
}

export function checkAttachOptions(options: AttachOptions): void {
  checkInput("options", options, MAP);
  checkInput("onOutput", options.onOutput, CALLBACK);
  if (options.size !== undefined) checkSize("size", options.size);
}

export function checkGrace(graceMs: number): number {
  checkWhole("graceMs", graceMs, { most: LARGEST_U32 });
  return graceMs;
}

export function checkSize(field: string, size: TerminalSize): TerminalSize {
  checkInput(field, size, MAP);
  checkWhole(`${field}.rows`, size.rows, { least: 1, most: LARGEST_SIZE });
  checkWhole(`${field}.columns`, size.columns, { least: 1, most: LARGEST_SIZE });
  return size;
}

/** @throws `process-not-found`: nothing can have an id of another form */
export function checkId(id: string): string {
  checkInput("id", id, TEXT);
  if (ID.test(id)) return id;
  throw processNotFound(id);
}

export function processNotFound(id: string): HoldfastError {
  return new HoldfastError("process-not-found", `there is no process ${id} in the sandbox`, { facts: { process: id } });
}

export function bytesOf(bytes: string | Uint8Array): Uint8Array {
  checkInput("bytes", bytes, BYTES);
  return typeof bytes === "string" ? Buffer.from(bytes) : bytes;
}

/** The number of a signal such as `SIGTERM`. */
export function signalNumber(name: string): number {
  checkInput("signal", name, TEXT);
  const names = new Map<string, number>(Object.entries(constants.signals));
  const number = names.get(name);
  if (number !== undefined) return number;
  const meant = suggest(name.startsWith("SIG") ? name : `SIG${name}`, new Set(names.keys()));
  throw new HoldfastError("invalid-input", `there is no signal ${name}`, {
    hint: meant ? `did you mean "${meant}"?` : "signals have names like SIGTERM",
    facts: { signal: name },
  });
}

function checkWhole(field: string, value: number, { least = 0, most = Number.MAX_SAFE_INTEGER } = {}): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new HoldfastError("invalid-input", `${field} must be a whole number from ${least} to ${most}, and is ${value}`, {
    facts: { field, value },
  });
}
