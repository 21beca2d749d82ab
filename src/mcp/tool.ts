/** @module An operation as a tool: its fields as JSON Schema, each with its meaning, and its result as a text. */
import * as z from "zod/mini";
import type { App } from "../app/create-app.ts";
import { type Operation, runOperation } from "../app/operation.ts";

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
  /** @default JSON */
  words?(output: Output): string;
}

export function toolOf<Input, Output>(name: string, operation: Operation<Input, Output>, options: ToolOptions<Output>): Tool {
  const { description, fields, readOnly = false, words = JSON.stringify } = options;
  const make = (hidden: readonly string[]): Tool => ({
    name,
    description,
    readOnly,
    input: schemaOf(operation.input, { fields, hidden }),
    without: (more) => make([...hidden, ...more]),
    run: async (app, input) => words(await runOperation(app, operation, input)),
  });
  return make([]);
}

function schemaOf(
  shape: z.ZodMiniType,
  { fields, hidden }: { fields: Readonly<Record<string, string>>; hidden: readonly string[] },
): JsonObject {
  const { $schema: _, properties = {}, ...schema } = z.toJSONSchema(shape, { io: "input" });
  const offered = Object.entries(properties).filter(([field]) => !hidden.includes(field));
  return {
    ...schema,
    properties: Object.fromEntries(offered.map(([field, value]) => [field, { ...(value as JsonObject), description: fields[field] }])),
  };
}
