/** @module The keys that leave a terminal without ending what runs in it. */
import { type Clock, systemClock, type Timer } from "../base/clock.ts";
import { HoldfastError } from "../base/errors.ts";

export const DEFAULT_DETACH_KEYS = "ctrl-p,ctrl-q";

/** After that long a key that may begin the sequence is handed on, so that Ctrl-P alone works too. */
const HOLD_MS = 400;

/** One byte per key. `none` gives no key at all. Otherwise each is a character, or `ctrl-` and one of `a`–`z`, `@`, `[`, `\`, `]`, `^`, `_`. */
export function parseDetachKeys(text: string): Uint8Array {
  if (text === "none") return new Uint8Array();
  return Uint8Array.from(text.split(","), (key) => keyByte(key, text));
}

function keyByte(key: string, text: string): number {
  const [, control] = /^ctrl-([a-z@[\\\]^_])$/i.exec(key) ?? [];
  if (control !== undefined) return control.toUpperCase().charCodeAt(0) - 64;
  if (/^[\x20-\x7e]$/.test(key)) return key.charCodeAt(0);
  throw new HoldfastError("usage", `--detach-keys ${JSON.stringify(text)} names a key that does not exist: ${JSON.stringify(key)}`, {
    hint: `for example ${DEFAULT_DETACH_KEYS}, or none`,
  });
}

export interface KeyFilterOptions {
  /** Empty: everything passes. */
  keys: Uint8Array;
  /** Receives all that is no part of the sequence. */
  pass(bytes: Uint8Array): void;
  detach(): void;
  clock?: Clock;
}

/** Takes what is typed. After `detach` nothing passes any more. */
export function createKeyFilter({ keys, pass, detach, clock = systemClock }: KeyFilterOptions): (typed: Uint8Array) => void {
  /** The end of what was typed, as far as it is the beginning of the sequence; the last `held` bytes of it have not passed yet. */
  const matched: number[] = [];
  let held = 0;
  let timer: Timer | undefined;
  let over = false;

  const release = () => {
    pass(Uint8Array.from(matched.slice(-held)));
    held = 0;
  };
  const take = (byte: number, passing: number[]) => {
    matched.push(byte);
    held++;
    while (!matched.every((value, index) => value === keys[index])) {
      const gone = matched.shift() as number;
      if (held > matched.length) {
        passing.push(gone);
        held--;
      }
    }
  };

  return (typed) => {
    if (over) return;
    timer?.cancel();
    const passing: number[] = [];
    for (const byte of typed) {
      take(byte, passing);
      if (keys.length > 0 && matched.length === keys.length) {
        over = true;
        break;
      }
    }
    if (passing.length > 0) pass(Uint8Array.from(passing));
    if (over) detach();
    else if (held > 0) timer = clock.after(HOLD_MS, release, { background: true });
  };
}
