import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { decide, REQUIREMENTS, requirement } from "./requirements.ts";

const here = { name: "bash", missing: null };
const gone = { name: "zsh", missing: "zsh is not installed" };

test("what is there runs, what is missing is skipped with its reason, and fails where everything is required", () => {
  expect(decide([here], true)).toEqual({ action: "run", reason: "" });
  expect(decide([here, gone], false)).toEqual({ action: "skip", reason: "needs zsh: zsh is not installed" });
  expect(decide([here, gone], true)).toEqual({ action: "fail", reason: "needs zsh: zsh is not installed" });
});

test("a requirement is looked for once", () => {
  expect(requirement("script")).toBe(requirement("script"));
});

test("./check knows how to install every program that tests ask for", () => {
  const check = readFileSync(join(import.meta.dirname, "../../check"), "utf8");
  const missing = REQUIREMENTS.filter((name) => name !== "mount" && !new RegExp(`^${name} +\\S+ +\\S`, "m").test(check));
  expect(missing).toEqual([]);
});
