/** @module Configuration given with one call: `-c key=value` and the like. */
import { HoldfastError } from "../base/errors.ts";

export interface FlagSetting {
  /** How the caller wrote it, for messages: `-c`, `--timeout`. */
  readonly name: string;
  /** `terminal.timeout` */
  readonly key: string;
  /** Text as in a variable, or a plain value. */
  readonly value: unknown;
}

/** Splits `key=value` at its first `=`. Whether the key exists and the value fits is for `loadConfig` to say. */
export function parseFlag(name: string, text: string): FlagSetting {
  const equals = text.indexOf("=");
  if (equals > 0) return { name, key: text.slice(0, equals).trim(), value: text.slice(equals + 1) };
  throw new HoldfastError("usage", `${name} needs KEY=VALUE, for example ${name} terminal.timeout=60`, {
    hint: "`holdfast config list` shows every key",
  });
}
