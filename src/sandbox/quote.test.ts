import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { quoteArgv, quoteWord } from "./quote.ts";

// A process argument holds everything but NUL, and only text that has a UTF-8 form comes back as it was.
const word = fc
  .oneof(
    fc.string({ unit: "binary", maxLength: 30 }),
    fc.string({ unit: fc.constantFrom(..."'\"\\$`!*?[]{}()<>|&;#~=- \t\n\rab"), maxLength: 12 }),
  )
  .filter((text) => !text.includes("\0") && text.isWellFormed());

function bash(script: string): string {
  return execFileSync("bash", ["--norc", "-c", script], { encoding: "utf8", env: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8" } });
}

test("bash reads every quoted word as the text it stands for", () => {
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 60 }), (words) => {
      expect(bash(`printf '%s\\0' ${words.map(quoteWord).join(" ")}`)).toBe(words.map((each) => `${each}\0`).join(""));
    }),
    { numRuns: 40 },
  );
});

test("bash runs an argument list as it is", () => {
  fc.assert(
    fc.property(fc.array(word, { maxLength: 40 }), (words) => {
      expect(bash(quoteArgv(["printf", "%s\\0", "first", ...words]))).toBe(["first", ...words].map((each) => `${each}\0`).join(""));
    }),
    { numRuns: 40 },
  );
});

test("plain words stay readable, and the first word is always quoted", () => {
  expect(quoteArgv(["git", "commit", "-m", "two words", "src/a.ts"])).toBe("'git' commit -m 'two words' src/a.ts");
  expect(quoteWord("")).toBe("''");
  expect(bash("shopt -s expand_aliases\nalias echo=false\n'echo' reached")).toBe("reached\n");
});
