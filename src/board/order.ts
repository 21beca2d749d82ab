/** @module The order of a list whose entries wait for one another. */

/**
 * The indexes as in the list, except that an entry comes after all it waits for; or, for a cycle, an entry that is part of it. Without
 * recursion, and each is looked at once: a list may be a chain of any length, or many that wait for many.
 */
export function orderOf(after: readonly (readonly number[])[]): { readonly order: readonly number[] } | { readonly cycle: number } {
  const order: number[] = [];
  /** How many of those it waits for were looked at; Infinity when it has its place. */
  const looked = new Map<number, number>();
  for (const begin of after.keys()) {
    const path = looked.has(begin) ? [] : [begin];
    for (let index = path.at(-1); index !== undefined; index = path.at(-1)) {
      const count = looked.get(index) ?? 0;
      const next = after[index]?.[count];
      looked.set(index, next === undefined ? Number.POSITIVE_INFINITY : count + 1);
      if (next === undefined) {
        order.push(index);
        path.pop();
      } else if (!looked.has(next)) path.push(next);
      else if (looked.get(next) !== Number.POSITIVE_INFINITY) return { cycle: next };
    }
  }
  return { order };
}
