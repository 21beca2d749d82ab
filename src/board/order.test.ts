import fc from "fast-check";
import { expect, test } from "vitest";
import { orderOf } from "./order.ts";

test("an entry comes after all it waits for, and else as in the list", () => {
  expect(orderOf([[], [], []])).toEqual({ order: [0, 1, 2] });
  expect(orderOf([[2], [], [1]])).toEqual({ order: [1, 2, 0] });
  expect(orderOf([])).toEqual({ order: [] });
});

test("a cycle is named by one of its entries", () => {
  expect(orderOf([[], [1]])).toEqual({ cycle: 1 });
  expect(orderOf([[1], [2], [3], [1]])).toEqual({ cycle: 1 });
});

test("whatever waits for whatever: either everything has its place or something waits for itself", () => {
  const lists = fc
    .integer({ min: 1, max: 8 })
    .chain((size) => fc.array(fc.uniqueArray(fc.nat(size - 1)), { minLength: size, maxLength: size }));
  fc.assert(
    fc.property(lists, (after) => {
      const found = orderOf(after);
      if ("cycle" in found) {
        const seen = new Set(after[found.cycle]);
        for (const each of seen) for (const next of after[each] ?? []) seen.add(next);
        expect(seen).toContain(found.cycle);
      } else {
        expect([...found.order].sort()).toEqual([...after.keys()]);
        for (const [index, above] of after.entries())
          for (const each of above) expect(found.order.indexOf(each)).toBeLessThan(found.order.indexOf(index));
      }
    }),
  );
});

test("long chains and entries that wait for very many are no trouble", () => {
  const many = 100_000;
  expect(orderOf(Array.from({ length: many }, (_, index) => (index + 1 < many ? [index + 1] : [])))).toHaveProperty("order");
  const all = Array.from({ length: many - 1 }, (_, index) => index + 1);
  expect(orderOf([all, ...all.map(() => [])])).toHaveProperty("order");
});
