import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { savedCwd } from "./saved-cwd.ts";

const segment = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(..."'\"\\$`!*~ \t\n\r\u0007\b\u001b\f\v\u007fab0é漢🙂"), minLength: 1, maxLength: 12 }),
);
const directory = segment.filter((text) => !text.includes("\0") && text.isWellFormed()).map((text) => `/${text}`);

test.for(["C", "C.UTF-8"])("every directory that bash writes in locale %s is read back", (LC_ALL) => {
  fc.assert(
    fc.property(fc.array(directory, { minLength: 1, maxLength: 60 }), (directories) => {
      const script = "for cwd; do printf '__holdfast_saved_cwd=%q\\n\\0' \"$cwd\"; done";
      const written = execFileSync("bash", ["--norc", "-c", script, "bash", ...directories], { env: { PATH: "/usr/bin:/bin", LC_ALL } });
      const states = written.toString("latin1").split("\0").slice(0, -1);
      expect(states.map((state) => savedCwd(Buffer.from(state, "latin1")))).toEqual(directories);
    }),
    { numRuns: 30 },
  );
});

test("only the first line counts", () => {
  expect(savedCwd(Buffer.from("__holdfast_saved_cwd=/right\n__holdfast_saved_cwd=/wrong\n"))).toBe("/right");
  expect(savedCwd(Buffer.from("alias a='\n__holdfast_saved_cwd=/wrong\n'\n"))).toBe("");
});

test("a state that is empty or cut short has no directory", () => {
  expect([savedCwd(new Uint8Array()), savedCwd(Buffer.from("__holdfast_saved_cwd=/cut"))]).toEqual(["", ""]);
});
