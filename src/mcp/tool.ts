/** @module An operation as a tool: its fields as JSON Schema, each with its meaning, and its result as a text. */
import * as z from "zod/mini";
import type { App } from "../app/create-app.ts";
import { type Operation, runOperation } from "../app/operation.ts";
import { HoldfastError } from "../base/errors.ts";

export type JsonObject = Record<string, unknown>;

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** It changes nothing. */
  readonly readOnly: boolean;
  /** JSON Schema of its arguments. */
  readonly input: JsonObject;
  /** The same, with these fields not offered. */
  without(fields: readonly string[]): Tool;
  /** What the model reads. @throws what the operation throws, and `invalid-input` */
  run(app: App, input: unknown): Promise<string>;
}

export interface ToolOptions<Output> {
  readonly description: string;
  /** What each field means; a test holds that none is left out. */
  readonly fields: Readonly<Record<string, string>>;
  /** @default false */
  readonly readOnly?: boolean;
  /** Those that are written in another way than the operation takes them. */
  readonly written?: Readonly<Record<string, Writing>>;
  /** @default JSON */
  words?(output: Output): string;
}

/** How a model writes the value of a field. */
export interface Writing {
  readonly schema: JsonObject;
  /** @throws `invalid-input` */
  read(field: string, value: unknown): unknown;
}

/** Models seldom know how many milliseconds have passed since 1970. */
export const TIME: Writing = {
  schema: { type: "string", format: "date-time" },
  read(field, value) {
    const at = typeof value === "string" && ZONED.test(value) ? Date.parse(value) : Number.NaN;
    if (!Number.isNaN(at)) return at;
    throw new HoldfastError("invalid-input", `${field} is not a time with its zone: ${JSON.stringify(value)?.slice(0, 80)}`, {
      hint: "write it as 2026-12-24T18:00:00Z or 2026-12-24T18:00:00+01:00",
      facts: { field },
    });
  },
};

const ZONED = /^\d{4}-\d\d-\d\dT\d\d:\d\d.*(Z|[+-]\d\d:?\d\d)$/;

export function toolOf<Input, Output>(name: string, operation: Operation<Input, Output>, options: ToolOptions<Output>): Tool {
  const { description, fields, written = {}, readOnly = false, words = JSON.stringify } = options;
  const make = (hidden: readonly string[]): Tool => ({
    name,
    description,
    readOnly,
    input: schemaOf(operation.input, { fields, written, hidden }),
    without: (more) => make([...hidden, ...more]),
    run: async (app, input) => words(await runOperation(app, operation, readAll(input, written))),
  });
  return make([]);
}

function readAll(input: unknown, written: Readonly<Record<string, Writing>>): unknown {
  if (typeof input !== "object" || input === null) return input;
  const read = Object.entries(written).flatMap(([field, writing]) => {
    const value = (input as JsonObject)[field];
    return value === undefined ? [] : [[field, writing.read(field, value)] as const];
  });
  return { ...input, ...Object.fromEntries(read) };
}

interface SchemaOptions extends Required<Pick<ToolOptions<unknown>, "fields" | "written">> {
  readonly hidden: readonly string[];
}

function schemaOf(shape: z.ZodMiniType, { fields, written, hidden }: SchemaOptions): JsonObject {
  const {
    $schema: _,
    properties = {},
    ...schema
  } = z.toJSONSchema(shape, { io: "input", override: ({ jsonSchema }) => unbounded(jsonSchema) });
  const offered = Object.entries(properties).filter(([field]) => !hidden.includes(field));
  const described = offered.map(([field, value]) => {
    const own = written[field]?.schema ?? (value as JsonObject);
    return [field, { ...own, description: fields[field] }] as const;
  });
  return { ...schema, properties: Object.fromEntries(described) };
}

/** Every whole number fits between these, so they tell a model nothing. */
function unbounded(schema: JsonObject): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}
