/** @module An error in the words in which the program itself prints it. */
import { describeError, HoldfastError } from "../../base/errors.ts";

export function told(error: unknown): string {
  const hint = HoldfastError.isInstance(error) ? error.hint : undefined;
  return `error: ${describeError(error)}\n${hint ? `hint: ${hint}\n` : ""}`;
}
