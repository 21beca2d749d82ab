/** @module The names of boards (K5). */
import { checkInput, TEXT } from "../base/check-input.ts";
import { HoldfastError } from "../base/errors.ts";

export const DEFAULT_BOARD = "default";

const SLUG = /^[a-z0-9][a-z0-9_-]{0,63}$/;

export function parseSlug(input: string): string {
  checkInput("board", input, TEXT);
  const slug = input.trim().toLowerCase();
  if (SLUG.test(slug)) return slug;
  throw new HoldfastError("invalid-name", `${JSON.stringify(input.slice(0, 80))} is not a valid board name`, {
    hint: "a board name is 1 to 64 of a-z, 0-9, `_` and `-`, beginning with a letter or digit",
    facts: { kind: "board", name: input.slice(0, 80) },
  });
}
