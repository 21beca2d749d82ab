/** @module A use case, described once; command line, MCP tools and HTTP routes are projections of it. */
import * as z from "zod/mini";
import { HoldfastError } from "../base/errors.ts";
import type { App } from "./create-app.ts";

export interface Operation<Input, Output> {
  /** `noun.verb` */
  readonly name: string;
  readonly summary: string;
  readonly input: z.ZodMiniType<Input>;
  readonly output: z.ZodMiniType<Output>;
  run(app: App, input: Input): Promise<Output>;
}

/** Keeps the types of an operation without writing them twice. */
export function defineOperation<Input, Output>(operation: Operation<Input, Output>): Operation<Input, Output> {
  return operation;
}

/** Checks input that comes from outside the type system, then runs. */
export async function runOperation<Input, Output>(app: App, operation: Operation<Input, Output>, input: unknown): Promise<Output> {
  const parsed = z.safeParse(operation.input, input);
  if (parsed.success) return operation.run(app, parsed.data);
  const [issue] = parsed.error.issues;
  const field = issue?.path.join(".") || "input";
  throw new HoldfastError("invalid-input", `${operation.name}: ${field}: ${issue?.message ?? "not accepted"}`, {
    facts: { operation: operation.name, field },
    cause: parsed.error,
  });
}
