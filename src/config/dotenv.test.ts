import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDotenv } from "./dotenv.ts";

function values(text: string): Record<string, string> {
  const { entries, problems } = parseDotenv(text);
  expect(problems).toEqual([]);
  return Object.fromEntries(entries.map(({ name, value }) => [name, value]));
}

describe("a .env file", () => {
  test.each([
    ["", {}],
    ["\n\n  \n", {}],
    ["# only a comment\n   # another", {}],
    ["A=1", { A: "1" }],
    ["A=1\r\nB=2\r\n", { A: "1", B: "2" }],
    ["\uFEFFA=1", { A: "1" }],
    ["export A=1\nexport\tB=2\n  export   C=3", { A: "1", B: "2", C: "3" }],
    ["export=1", { export: "1" }],
    ["A =  1  ", { A: "1" }],
    ["A=", { A: "" }],
    ["A= # nothing", { A: "" }],
    ["A=#colour", { A: "#colour" }],
    ["A=a#b", { A: "a#b" }],
    ["A=a b # comment # more", { A: "a b" }],
    ["A=a\t# comment", { A: "a" }],
    ["A=b=c=", { A: "b=c=" }],
    ["A=it's", { A: "it's" }],
    ["A=$HOME `id` ${X}", { A: "$HOME `id` ${X}" }],
    ["A=1\nA=2", { A: "2" }],
    ["_a9=x", { _a9: "x" }],
  ])("unquoted %j", (text, expected) => expect(values(text)).toEqual(expected));

  test.each([
    ["A=''", ""],
    ["A='  a # b  '", "  a # b  "],
    ["A='\\n $X \"'", '\\n $X "'],
    ["A='a' # comment", "a"],
    ["A=  'a'  ", "a"],
  ])("single quotes are literal: %j", (text, expected) => expect(values(text)).toEqual({ A: expected }));

  test.each([
    ['A=""', ""],
    ['A="a # b"', "a # b"],
    ['A="a\\nb\\tc\\"d\\\\e\\$f"', 'a\nb\tc"d\\e$f'],
    ['A="C:\\dir\\x"', "C:\\dir\\x"],
    ['A="it\'s $HOME"', "it's $HOME"],
    ['A="a\\\\" # comment', "a\\"],
    ['A="one\ntwo\n"', "one\ntwo\n"],
    ['A="one\r\ntwo"', "one\ntwo"],
    ['A="# not a comment\nB=not a variable"', "# not a comment\nB=not a variable"],
    ['A="ends with a backslash\\\nnext"', "ends with a backslash\\\nnext"],
  ])("double quotes know escapes and may span lines: %j", (text, expected) => expect(values(text)).toEqual({ A: expected }));

  test("what follows a value of several lines is read, and lines are counted", () => {
    const { entries } = parseDotenv('A="1\n2\n3" # c\n\nB=x\n');
    expect(entries).toEqual([
      { name: "A", value: "1\n2\n3", line: 1 },
      { name: "B", value: "x", line: 5 },
    ]);
  });

  test.each([
    ["A=1\nnonsense", 2, "the line has no `=`"],
    ["1A=x", 1, "what stands before the `=` is not a variable name (letters, digits and `_`)"],
    ["=x", 1, "what stands before the `=` is not a variable name (letters, digits and `_`)"],
    ["A B=x", 1, "what stands before the `=` is not a variable name (letters, digits and `_`)"],
    ["A-B=x", 1, "what stands before the `=` is not a variable name (letters, digits and `_`)"],
    ["A='x", 1, "the closing ' is missing"],
    ["A='x\ny'", 1, "the closing ' is missing"],
    ['A="x', 1, 'the closing " is missing'],
    ['X=1\n\nA="x\nB=2\n', 3, 'the closing " is missing'],
    ['A="x\\"', 1, 'the closing " is missing'],
    ['A="x"y', 1, "text follows the closing quote"],
    ["A='x'y", 1, "text follows the closing quote"],
    ["A='x'#y", 1, "text follows the closing quote"],
    ["A=x\0y", 1, "the value holds a NUL byte"],
    ['A="x\0y"', 1, "the value holds a NUL byte"],
  ])("broken: %j", (text, line, message) => {
    expect(parseDotenv(text).problems[0]).toEqual({ line, message });
  });

  test("every broken line is found, and the sound ones are read all the same", () => {
    const { entries, problems } = parseDotenv("bad\nA=1\n-=2\nB='x\nC=3");
    expect(problems.map(({ line }) => line)).toEqual([1, 3, 4]);
    expect(entries.map(({ name }) => name)).toEqual(["A", "C"]);
  });

  test("no message holds any of the text", () => {
    const text = ["sk-secret", "sk-secret=1", "A='sk-secret", "A='a'sk-secret", 'A="sk-secret'].join("\n");
    expect(JSON.stringify(parseDotenv(text).problems)).not.toContain("secret");
  });

  test("any value comes back when it is quoted", () => {
    const value = fc.string({ unit: "grapheme" }).filter((text) => !/[\0\r]/.test(text));
    fc.assert(
      fc.property(value, (text) => {
        const quoted = `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
        expect(values(`A=${quoted}\nB=2`)).toEqual({ A: text, B: "2" });
      }),
    );
  });

  test("no text makes the parser throw or loop", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("A", "=", '"', "'", "\\", "\n", "#", " ", "\r", "\0") }),
        (text) => void parseDotenv(text),
      ),
    );
  });

  test("a name of the language's own is a name like any other", () => {
    expect(parseDotenv("__proto__=x").entries).toEqual([{ name: "__proto__", value: "x", line: 1 }]);
  });
});
