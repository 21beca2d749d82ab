import { expect, test } from "vitest";
import { createRecent } from "./recent.ts";

test("of more than fit, those that were not set for longest are forgotten", () => {
  const recent = createRecent<number, string>(2);
  recent.set(1, "a");
  recent.set(2, "b");
  recent.set(1, "c");
  recent.set(3, "d");
  expect([recent.get(1), recent.has(2), recent.get(3), recent.size]).toEqual(["c", false, "d", 2]);
  recent.delete(1);
  recent.set(4, "e");
  expect([recent.has(3), recent.has(4), recent.size]).toEqual([true, true, 2]);
});
