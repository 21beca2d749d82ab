/** @module From text or a plain value to the value of an option: the same rules for variables, `.env`, flags and files. */
import * as z from "zod/mini";
import { entrySchemas, type Option } from "./option.ts";
import { didYouMean } from "./suggest.ts";
import { urlWithoutPassword } from "./without-password.ts";

export type Reading = Accepted | Refused;

export interface Accepted {
  readonly ok: true;
  readonly value: unknown;
  /** Entries of a map, or of a list that allows it, that were left out, each with its reason. The caller must pass them on to a person. */
  readonly leftOut: readonly string[];
}

export interface Refused {
  readonly ok: false;
  /** What was found, shortened; never the content of a list or map as text, which may hold secrets. */
  readonly found: string;
  readonly expected: string;
  readonly hint: string | undefined;
}

/**
 * Text is read by the option's kind: true/1/yes/on/false/0/no/off in any case, decimal numbers, lists and maps as JSON, everything else as it is.
 * A plain value of the right type is taken as it is; another scalar counts as its text. Nothing at all (null) is an empty list or map,
 * or an optional string that is not set.
 */
export function readOption(option: Option, input: unknown): Reading {
  const plain = typeof input === "string" || isForeignScalar(option, input) ? fromText(option, String(input)) : { value: input };
  if ("reading" in plain) return plain.reading;
  if (option.kind === "list") return readList(option, plain.value);
  if (option.kind === "map") return readMap(option, plain.value);
  return isValid(option, plain.value) ? { ok: true, value: plain.value, leftOut: [] } : refuse(option, input);
}

type Plain = { readonly value: unknown } | { readonly reading: Refused };

const WORDS: Readonly<Record<string, boolean>> = {
  ...{ true: true, "1": true, yes: true, on: true },
  ...{ false: false, "0": false, no: false, off: false },
};

function fromText(option: Option, text: string): Plain {
  switch (option.kind) {
    case "boolean": {
      const value = Object.hasOwn(WORDS, text.toLowerCase()) ? WORDS[text.toLowerCase()] : undefined;
      return value === undefined ? { reading: refuse(option, text) } : { value };
    }
    case "integer":
      return /^-?\d+$/.test(text) ? { value: Number(text) } : { reading: refuse(option, text) };
    case "number":
      return /^-?\d+(\.\d+)?$/.test(text) ? { value: Number(text) } : { reading: refuse(option, text) };
    case "optional string":
      return { value: text === "" ? null : text };
    case "list":
    case "map":
      return fromJson(option, text);
    case "string":
    case "enum":
      return { value: text };
  }
}

function fromJson(option: Option, text: string): Plain {
  try {
    return { value: JSON.parse(text, option.kind === "map" ? keepNumberText : undefined) };
  } catch {
    // SyntaxError; its message would quote the text.
    const example = option.kind === "list" ? '["a", "b"]' : '{"NAME": "value"}';
    return { reading: { ...refuse(option, null), found: "plain text", hint: `write it as ${example}, which is JSON` } };
  }
}

/** `1.10` in a map stays `1.10`: as a number it would come back as `1.1`. */
function keepNumberText(_name: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === "number" ? (context?.source ?? value) : value;
}

function isForeignScalar(option: Option, input: unknown): boolean {
  if (typeof input === "boolean") return option.kind !== "boolean" && !isCollection(option);
  if (typeof input === "number") return option.kind !== "integer" && option.kind !== "number" && !isCollection(option);
  return typeof input === "bigint";
}

function isCollection(option: Option): boolean {
  return option.kind === "list" || option.kind === "map";
}

function readList(option: Option, input: unknown): Reading {
  const list = input ?? [];
  if (!Array.isArray(list)) return refuse(option, input);
  const bad = option.skipsBadEntries ? list.filter((entry) => !isValid(option, [entry])) : [];
  const kept = list.filter((entry) => !bad.includes(entry));
  if (isValid(option, kept))
    return { ok: true, value: Object.freeze(kept), leftOut: bad.map((entry) => `${show(entry)} is not a valid name`) };
  const index = z.safeParse(option.schema, list).error?.issues[0]?.path[0];
  const position = typeof index === "number" ? index : list.findIndex((entry) => !isSafe(entry));
  return { ...refuse(option, input), found: `one whose entry ${position + 1} is ${show(list[position])}` };
}

function readMap(option: Option, input: unknown): Reading {
  const map = input ?? {};
  if (typeof map !== "object" || Array.isArray(map)) return refuse(option, input);
  const schemas = entrySchemas(option.schema);
  const leftOut: string[] = [];
  const entries = Object.entries(map).flatMap(([name, value]): [string, string][] => {
    const text = typeof value === "number" || typeof value === "boolean" ? String(value) : value;
    const sound = isSafe(text) && z.safeParse(schemas.value, text).success;
    if (!isSafe(name) || !z.safeParse(schemas.name, name).success) leftOut.push(`${shorten(name)} is not a valid name`);
    else if (!sound || typeof text !== "string")
      leftOut.push(`the value of ${name} is ${describeType(text)}, not a string, number or boolean`);
    else return [[name, text]];
    return [];
  });
  return { ok: true, value: Object.freeze(Object.fromEntries(entries)), leftOut };
}

function isValid(option: Option, value: unknown): boolean {
  const safe = Array.isArray(value) ? value.every(isSafe) : isSafe(value);
  return safe && z.safeParse(option.schema, value).success;
}

/** Neither a path nor an argument nor a variable can hold a NUL byte or half a surrogate pair. */
function isSafe(value: unknown): boolean {
  return typeof value !== "string" || (!value.includes("\0") && value.isWellFormed());
}

function refuse(option: Option, input: unknown): Refused {
  const near = typeof input === "string" ? didYouMean(input, option.choices) : undefined;
  return { ok: false, found: show(input), expected: option.expected, hint: option.hint(input) ?? near };
}

function show(value: unknown): string {
  return typeof value === "string" ? shorten(value) : describeType(value);
}

function describeType(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a map";
  if (typeof value === "string") return "a string that no variable can hold";
  return String(value);
}

const SHOWN = 60;

/** Without the password first: a part of one would not be known for what it is. */
function shorten(text: string): string {
  const shown = urlWithoutPassword(text);
  return JSON.stringify(shown.length > SHOWN ? `${shown.slice(0, SHOWN)}…` : shown);
}
