/** @module What a call accepts: everything is checked before anything runs. */
import { Readable } from "node:stream";
import { CALLBACK, checkFields, checkInput, FLAG, type InputType, MAP, NUMBER, TEXT } from "../base/check-input.ts";
import { HoldfastError } from "../base/errors.ts";
import type { CallOptions, Command } from "./call.ts";
import type { TerminalSize } from "./process.ts";
import { quoteArgv } from "./quote.ts";
import { CALL_VARIABLE, ONE_CALL_PREFIX, SANDBOX_VARIABLE } from "./session/script.ts";

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const RESERVED_NAME = new RegExp(`^(${CALL_VARIABLE}$|${SANDBOX_VARIABLE}$|${ONE_CALL_PREFIX}|__holdfast_)`);

const COMMAND: InputType = {
  expected: "a string or an array of strings",
  fits: (value) => TEXT.fits(value) || (Array.isArray(value) && value.every(TEXT.fits)),
};
/** As many as the protocol and the kernel can hold. */
const LARGEST_TERMINAL = 65_535;
const TERMINAL_SIZE: InputType = {
  expected: `rows and columns from 1 to ${LARGEST_TERMINAL}`,
  fits(value) {
    const { rows, columns } = (value ?? {}) as Partial<TerminalSize>;
    return [rows, columns].every((side) => Number.isInteger(side) && Number(side) >= 1 && Number(side) <= LARGEST_TERMINAL);
  },
};
const OPTIONS: Readonly<Record<keyof CallOptions, InputType>> = {
  session: TEXT,
  timeoutMs: NUMBER,
  cwd: TEXT,
  env: MAP,
  stdin: {
    expected: "a string, bytes or a readable stream",
    fits: (value) => TEXT.fits(value) || value instanceof Uint8Array || value instanceof Readable,
  },
  merge: FLAG,
  overflowFile: FLAG,
  tty: TERMINAL_SIZE,
  onOutput: CALLBACK,
  onStart: CALLBACK,
  signal: { expected: "an AbortSignal", fits: (value) => value instanceof AbortSignal },
};

/** For callers that no compiler has checked. @throws `invalid-input`, naming the field */
export function checkCallOptions(options: CallOptions): CallOptions {
  checkFields("options", options, OPTIONS);
  return options;
}

export function commandText(command: Command): string {
  checkInput("command", command, COMMAND);
  const text = typeof command === "string" ? command : argvText(command);
  if (text.trim() === "") throw new HoldfastError("invalid-command", "the command is empty");
  if (text.includes("\0")) throw new HoldfastError("invalid-command", "the command holds a NUL byte, which no shell can take");
  return text;
}

function argvText(argv: readonly string[]): string {
  return argv[0] ? quoteArgv(argv) : "";
}

export function oneCallVariables(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(env)) {
    if (!VARIABLE_NAME.test(name)) {
      throw new HoldfastError("invalid-input", `${JSON.stringify(name)} is not a valid variable name`, {
        hint: "a name is letters, digits and `_`, not beginning with a digit",
        facts: { name },
      });
    }
    if (RESERVED_NAME.test(name)) {
      throw new HoldfastError("invalid-input", `${name} is a name that Holdfast itself uses`, {
        hint: "choose another name",
        facts: { name },
      });
    }
    checkInput(`env.${name}`, value, TEXT);
    if (value.includes("\0")) throw new HoldfastError("invalid-input", `the value of ${name} holds a NUL byte`, { facts: { name } });
  }
  return env;
}

export function checkTimeout(timeoutMs: number): number {
  if (Number.isFinite(timeoutMs) && timeoutMs > 0) return timeoutMs;
  throw new HoldfastError("invalid-input", `a timeout of ${timeoutMs} ms is not possible`, {
    hint: "give a number of at least 1",
    facts: { timeoutMs },
  });
}

/** Null: the session's own directory. */
export function checkDirectory(cwd: string | undefined): string | null {
  if (cwd === undefined) return null;
  if (cwd !== "" && !cwd.includes("\0")) return cwd;
  throw new HoldfastError("cwd-invalid", `${JSON.stringify(cwd)} is not the name of a directory`, { facts: { cwd } });
}
