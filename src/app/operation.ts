/** @module A use case, described once; command line, MCP tools and HTTP routes are projections of it. */
import * as z from "zod/mini";
import { HoldfastError } from "../base/errors.ts";
import { didYouMean } from "../base/suggest.ts";
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
  const { issues } = parsed.error;
  // A name that is wrong explains that another one is missing.
  const unknown = issues.find((each) => each.code === "unrecognized_keys");
  if (unknown !== undefined) throw unknownField(operation, unknown.keys, parsed.error);
  const [issue] = issues;
  const field = issue?.path.join(".") || "input";
  const isMissing = issue?.code === "invalid_type" && issue.message.endsWith("received undefined");
  const problem = isMissing ? "is missing" : (issue?.message ?? "not accepted");
  throw new HoldfastError("invalid-input", `${operation.name}: ${field}${isMissing ? " " : ": "}${problem}`, {
    facts: { operation: operation.name, field },
    cause: parsed.error,
  });
}

function unknownField({ name, input }: { name: string; input: z.ZodMiniType }, [field = ""]: readonly string[], cause: unknown) {
  const known = "shape" in input._zod.def ? Object.keys(input._zod.def.shape as object) : [];
  return new HoldfastError("invalid-input", `${name}: there is no field ${JSON.stringify(field.slice(0, 80))}`, {
    hint: didYouMean(field, known) ?? `it has ${known.join(", ")}`,
    facts: { operation: name, field },
    cause,
  });
}
