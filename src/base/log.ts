/** @module Structured log lines, written to an injected sink; nothing here knows about files or terminals. What they quote loses its passwords here. */
import type { Clock } from "./clock.ts";
import { withoutPassword, withoutPasswords } from "./without-password.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A field of a record that only repeats what is thrown as well, so that nobody is shown both. */
export const THROWN = "thrown";

export type LogFields = Readonly<Record<string, unknown>>;

export interface LogRecord {
  readonly time: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to every record. */
  with(fields: LogFields): Logger;
}

export function createLogger(options: { clock: Clock; level: LogLevel; sink: (record: LogRecord) => void; fields?: LogFields }): Logger {
  const { clock, level, sink, fields: base = {} } = options;
  const threshold = LOG_LEVELS.indexOf(level);
  const write = (recordLevel: LogLevel) => (message: string, fields?: LogFields) => {
    if (LOG_LEVELS.indexOf(recordLevel) < threshold) return;
    sink({ time: clock.now(), level: recordLevel, message: withoutPassword(message), fields: withoutPasswords({ ...base, ...fields }) });
  };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    with: (fields) => createLogger({ clock, level, sink, fields: { ...base, ...fields } }),
  };
}

const nothing = () => {};
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, with: () => silentLogger };
