/** @module How an option is declared: once, as a schema with its default and one line of help. */
import type * as z from "zod/mini";
import { HoldfastError } from "./errors.ts";

/** What a value is, as far as reading it from text and describing it goes. */
export type OptionKind = "boolean" | "integer" | "number" | "string" | "optional string" | "enum" | "list" | "map";

export interface Option<T = unknown> {
  readonly schema: z.ZodMiniType;
  readonly kind: OptionKind;
  /** What a value must be, to follow "must be": `a whole number of at least 1`. */
  readonly expected: string;
  /** The allowed values of an enum; empty for every other kind. */
  readonly choices: readonly string[];
  readonly default: T;
  readonly help: string;
  /** What to do about a refused value, if there is something better to say than what is expected. */
  readonly hint: (input: unknown) => string | undefined;
  /** Of a list: what is wrong with one entry takes only that away, as in a map. */
  readonly skipsBadEntries: boolean;
}

export interface OptionDetails<T> {
  readonly default: Readonly<T>;
  /** One line, without a final full stop. */
  readonly help: string;
  /** Replaces the description made from the schema, where that says too little. */
  readonly expected?: string;
  readonly hint?: (input: unknown) => string | undefined;
  readonly skipsBadEntries?: boolean;
}

export type OptionSet = Readonly<Record<string, Option>>;
export type OptionValues<Set extends OptionSet> = { readonly [Name in keyof Set]: Set[Name]["default"] };

/**
 * Declares an option. The schema is a boolean, number, `z.int()`, string, nullable string, enum, array of strings, or record of strings
 * to strings, with any checks.
 */
export function option<T>(schema: z.ZodMiniType<T>, details: OptionDetails<T>): Option<Readonly<T>> {
  const kind = kindOf(schema);
  return {
    schema,
    kind,
    expected: details.expected ?? describe(schema, kind),
    choices: choicesOf(schema),
    default: Object.freeze(details.default),
    help: details.help,
    hint: details.hint ?? (() => undefined),
    skipsBadEntries: details.skipsBadEntries ?? false,
  };
}

/** The schemas of a record's names and values, for entries that are judged one by one. */
export function entrySchemas(schema: z.ZodMiniType): { name: z.core.$ZodType; value: z.core.$ZodType } {
  const definition = definitionOf(schema);
  if (definition.type !== "record") throw unsupported(definition.type);
  return { name: definition.keyType, value: definition.valueType };
}

function kindOf(schema: z.core.$ZodType): OptionKind {
  const definition = definitionOf(schema);
  switch (definition.type) {
    case "boolean":
    case "string":
    case "enum":
      return definition.type;
    case "number":
      return "format" in definition && definition.format === "safeint" ? "integer" : "number";
    case "nullable":
      if (kindOf(definition.innerType) === "string") return "optional string";
      break;
    case "array":
      if (kindOf(definition.element) === "string") return "list";
      break;
    case "record":
      if (kindOf(definition.valueType) === "string") return "map";
      break;
  }
  throw unsupported(definition.type);
}

function describe(schema: z.core.$ZodType, kind: OptionKind): string {
  switch (kind) {
    case "boolean":
      return "true or false";
    case "integer":
      return `a whole number${describeBounds(schema)}`;
    case "number":
      return `a number${describeBounds(schema)}`;
    case "enum":
      return `one of ${choicesOf(schema).join(", ")}`;
    case "list":
      return "a list of strings";
    case "map":
      return "a map of names to strings";
    case "string":
      return checksOf(schema).some((check) => check.check === "min_length") ? "a string that is not empty" : "a string";
    case "optional string":
      return "a string";
  }
}

function describeBounds(schema: z.core.$ZodType): string {
  const checks = checksOf(schema);
  const low = checks.find((check) => check.check === "greater_than");
  const high = checks.find((check) => check.check === "less_than");
  if (low?.inclusive && high?.inclusive) return ` from ${low.value} to ${high.value}`;
  const lowest = low && (low.inclusive ? `of at least ${low.value}` : `above ${low.value}`);
  const highest = high && (high.inclusive ? `at most ${high.value}` : `below ${high.value}`);
  const bounds = [lowest, highest].filter((bound) => bound !== undefined).join(" and ");
  return bounds === "" ? "" : ` ${bounds}`;
}

function choicesOf(schema: z.core.$ZodType): readonly string[] {
  const definition = definitionOf(schema);
  return definition.type === "enum" ? Object.values(definition.entries).map(String) : [];
}

// The union types are how zod itself wants its schemas to be looked into.
function definitionOf(schema: z.core.$ZodType): z.core.$ZodTypes["_zod"]["def"] {
  return (schema as z.core.$ZodTypes)._zod.def;
}

function checksOf(schema: z.core.$ZodType): z.core.$ZodChecks["_zod"]["def"][] {
  return (schema._zod.def.checks ?? []).map((check) => (check as z.core.$ZodChecks)._zod.def);
}

function unsupported(type: string): HoldfastError {
  return new HoldfastError("internal", `an option cannot be declared with a ${type} schema`);
}
