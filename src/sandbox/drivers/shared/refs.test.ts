import { expect, test } from "vitest";
import { ownerMatches, sandboxGone } from "./refs.ts";

const owner = { install: "i", profile: "p", task: "t" };

test("an owner fits a filter whose given fields are all its own", () => {
  expect(
    [{}, { install: "i" }, { install: "i", task: "t" }, owner, { install: "i", task: undefined }].map((filter) =>
      ownerMatches(owner, filter as object),
    ),
  ).toEqual([true, true, true, true, true]);
  expect([{ install: "x" }, { install: "i", task: "x" }, { profile: "" }].map((filter) => ownerMatches(owner, filter))).toEqual([
    false,
    false,
    false,
  ]);
});

test("a sandbox that is gone is named, and nothing ran", () => {
  const ref = { driver: "local", id: "local-1", owner, fingerprint: "", state: "running", createdAt: 0 } as const;
  expect(sandboxGone("sandbox-lost", ref)).toMatchObject({
    code: "sandbox-lost",
    message: expect.stringContaining("task t"),
    facts: { sandbox: "local-1", mayHaveRun: false },
  });
});
