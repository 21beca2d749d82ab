import { expect, test } from "vitest";
import { unknownSkips } from "./sandbox-driver.ts";

const titles = ["one case", "another case"];

test("a skip with a reason, of a case that is there, is fine", () => {
  expect(unknownSkips([{ reason: "has no pipes", tests: ["one case", "another case"] }], titles)).toEqual([]);
});

test("a skip of a case that is not there, or without a reason, is found", () => {
  expect(unknownSkips([{ reason: "has no pipes", tests: ["one cas"] }], titles)).toEqual(["one cas"]);
  expect(unknownSkips([{ reason: " ", tests: ["one case"] }], titles)).toEqual(["one case"]);
});
