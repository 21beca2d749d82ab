/** @module What is shown of a background process in place of its command, for surfaces that start something else than people asked for. */
import type { ProcessOptions } from "./process.ts";

/** A symbol: it is no option for users, and goes wherever the options go. */
const SHOWN = Symbol("shown");

export function showInstead(options: ProcessOptions, text: string): ProcessOptions {
  return { ...options, [SHOWN]: text } as ProcessOptions;
}

export function shownInstead(options: ProcessOptions): string | undefined {
  return (options as { readonly [SHOWN]?: string })[SHOWN];
}
