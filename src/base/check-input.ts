/** @module Input from programs that no compiler has checked: a wrong type is refused by the name of its field. */
import { HoldfastError } from "./errors.ts";
import { didYouMean } from "./suggest.ts";

export interface InputType {
  /** As in "must be …". */
  readonly expected: string;
  fits(value: unknown): boolean;
}

export const TEXT: InputType = { expected: "a string", fits: (value) => typeof value === "string" };
export const FLAG: InputType = { expected: "true or false", fits: (value) => typeof value === "boolean" };
export const NUMBER: InputType = { expected: "a number", fits: (value) => typeof value === "number" };
export const CALLBACK: InputType = { expected: "a function", fits: (value) => typeof value === "function" };
export const MAP: InputType = {
  expected: "an object",
  fits: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
};

/** @throws `invalid-input`, naming the field */
export function checkInput(field: string, value: unknown, { expected, fits }: InputType): void {
  if (fits(value)) return;
  const found = value === null ? "null" : Array.isArray(value) ? "an array" : `of type ${typeof value}`;
  throw new HoldfastError("invalid-input", `${field} must be ${expected}, and is ${found}`, { facts: { field } });
}

/** Fields that are undefined count as left out; others than these are refused. @throws `invalid-input`, naming the field */
export function checkFields<Fields extends object>(what: string, input: Fields, types: Readonly<Record<keyof Fields & string, InputType>>) {
  checkInput(what, input, MAP);
  const unknown = Object.keys(input).find((field) => !Object.hasOwn(types, field));
  if (unknown !== undefined) {
    const known = Object.keys(types);
    throw new HoldfastError("invalid-input", `${what} has no field ${JSON.stringify(unknown)}`, {
      hint: didYouMean(unknown, known) ?? `it has ${known.join(", ")}`,
      facts: { field: unknown },
    });
  }
  for (const [field, type] of Object.entries<InputType>(types)) {
    const value = (input as Readonly<Record<string, unknown>>)[field];
    if (value !== undefined) checkInput(field, value, type);
  }
}
