import { describe, expect, test } from "vitest";
import { parseYamlFile } from "./yaml-file.ts";
import { setInText, unsetInText } from "./yaml-splice.ts";

const set = async (text: string, name: string, value: unknown) => setInText(await parseYamlFile("/f", text), ["terminal", name], value);
const unset = async (text: string, name: string) => unsetInText(await parseYamlFile("/f", text), ["terminal", name]);

describe("setting a key keeps everything else, to the byte", () => {
  test.each([
    ["an empty file", "", "terminal:\n  t: 5\n"],
    ["only comments", "# a\n\n# b\n", "# a\n\n# b\nterminal:\n  t: 5\n"],
    ["only comments, no line break at the end", "# a", "# a\nterminal:\n  t: 5\n"],
    ["a document marker", "---\n# a\n", "---\n# a\nterminal:\n  t: 5\n"],
    ["a byte order mark alone", "\uFEFF", "\uFEFFterminal:\n  t: 5\n"],
    ["a missing section", "other:\n  a: 1 # c\n# end\n", "other:\n  a: 1 # c\nterminal:\n  t: 5\n# end\n"],
    ["a missing section, no line break at the end", "other: 1", "other: 1\nterminal:\n  t: 5\n"],
    ["a document end", "other: 1\n...\n", "other: 1\nterminal:\n  t: 5\n...\n"],
    ["an empty section", "terminal:\nother: 1\n", "terminal:\n  t: 5\nother: 1\n"],
    ["an empty section at the very end", "terminal:", "terminal:\n  t: 5\n"],
    ["an empty section with comments", "terminal: # c\n  # t: 1\nother: 1\n", "terminal: # c\n  t: 5\n  # t: 1\nother: 1\n"],
    ["a section that is null", "terminal: ~ # c\nother: 1\n", "terminal: # c\n  t: 5\nother: 1\n"],
    ["a section that is an empty map", "terminal: {} # c\n", "terminal: { t: 5 } # c\n"],
    ["another indentation", "terminal:\n      a:   1    # c\n\n\nother: 2\n", "terminal:\n      a:   1    # c\n      t: 5\n\n\nother: 2\n"],
    [
      "the value itself",
      "terminal:\n  a: 'x'\n  t:   180    # why\n\n\n  b: \"y\"\n",
      "terminal:\n  a: 'x'\n  t:   5    # why\n\n\n  b: \"y\"\n",
    ],
    ["a quoted value", "terminal:\n  t: '180'\n", "terminal:\n  t: 5\n"],
    ["a quoted key", 'terminal:\n  "t": 180\n', 'terminal:\n  "t": 5\n'],
    ["a value on the next line", "terminal:\n  t:\n    180\n  a: 1\n", "terminal:\n  t:\n    5\n  a: 1\n"],
    ["no value yet", "terminal:\n  t: # c\n  a: 1\n", "terminal:\n  t: 5 # c\n  a: 1\n"],
    ["no value and no line break", "terminal:\n  t:", "terminal:\n  t: 5"],
    ["a block text", "terminal:\n  t: |\n    one\n    two\n  a: 1\n", "terminal:\n  t: 5\n  a: 1\n"],
    ["a block list", "terminal:\n  t: # c\n    - a # d\n    - b\n  a: 1\n", "terminal:\n  t: 5 # c\n  a: 1\n"],
    ["a list at the level of its key", "terminal:\n  t:\n  - a\n  - b\n  a: 1\n", "terminal:\n  t: 5\n  a: 1\n"],
    ["a block map at the end", "terminal:\n  t:\n    A: 1\n    B: 2", "terminal:\n  t: 5\n"],
    ["a flow list over lines", "terminal:\n  t: [a,\n    b]\n  a: 1\n", "terminal:\n  t: 5\n  a: 1\n"],
    ["after a block list", "terminal:\n  a:\n    - x\n    # y\nother: 1\n", "terminal:\n  a:\n    - x\n    # y\n  t: 5\nother: 1\n"],
    ["after a block text", "terminal:\n  a: |\n    x\n\nother: 1\n", "terminal:\n  a: |\n    x\n  t: 5\n\nother: 1\n"],
    ["a flow section", "terminal: { a: 1 } # c\n", "terminal: { a: 1, t: 5 } # c\n"],
    ["a flow section with the key", "terminal: { t: 1,a: 2 }\n", "terminal: { t: 5,a: 2 }\n"],
    ["a flow section over lines", "terminal: {\n  a: 1, # c\n}\n", "terminal: {\n  a: 1, t: 5, # c\n}\n"],
    ["a flow root", "{ other: 1 }\n", "{ other: 1, terminal: { t: 5 } }\n"],
    ["an empty flow root", "{}\n", "{ terminal: { t: 5 } }\n"],
    ["a flow root with an empty section", "{ terminal: }\n", "{ terminal: { t: 5 } }\n"],
    ["CRLF", "# a\r\nterminal:\r\n  a: 1\r\n\r\n# b\r\n", "# a\r\nterminal:\r\n  a: 1\r\n  t: 5\r\n\r\n# b\r\n"],
    ["CRLF and the value itself", "terminal:\r\n  t: 1 # c\r\n", "terminal:\r\n  t: 5 # c\r\n"],
    ["CRLF and a block text", "terminal:\r\n  t: |\r\n    a\r\n  a: 1\r\n", "terminal:\r\n  t: 5\r\n  a: 1\r\n"],
    ["a byte order mark", "\uFEFFterminal:\n  a: 1\n", "\uFEFFterminal:\n  a: 1\n  t: 5\n"],
    ["an alias as value", "terminal:\n  a: &x 1\n  t: *x\n", "terminal:\n  a: &x 1\n  t: 5\n"],
    ["an explicit key", "terminal:\n  ? t\n  : 1\n", "terminal:\n  ? t\n  : 5\n"],
    ["an anchor nobody uses", "terminal:\n  t: &x 1\n", "terminal:\n  t: &x 5\n"],
  ])("%s", async (_, text, expected) => {
    expect(await set(text, "t", 5)).toBe(expected);
  });

  test.each([
    ["an anchor that others use", "terminal:\n  t: &x 1\n  a: *x\n"],
    ["a section that is an alias", "terminal: *x\n"],
    ["a tag", "terminal:\n  t: !!str 1\n"],
    ["an explicit key without value", "terminal:\n  ? t\n  a: 1\n"],
    ["an ended document without content", "# c\n...\n"],
  ])("%s: refuses rather than changing something else", async (_, text) => {
    await expect(set(text, "t", 5).then((changed) => expect(changed).toBe("never"))).rejects.toMatchObject({ code: "config-not-editable" });
  });
});

describe("how values are written", () => {
  test.each([
    ["debian:bookworm", "debian:bookworm"],
    ["docker://debian:bookworm", "docker://debian:bookworm"],
    ["~/work", "~/work"],
    ["/a b", '"/a b"'],
    ["", '""'],
    ["yes", '"yes"'],
    ["Off", '"Off"'],
    ["null", '"null"'],
    ["true", '"true"'],
    ["12", '"12"'],
    ["a:", '"a:"'],
    ["#x", '"#x"'],
    ["a\nb", '"a\\nb"'],
    [null, "null"],
    [false, "false"],
    [0.5, "0.5"],
    [["a", "b c"], '["a", "b c"]'],
    [[], "[]"],
    [{ A: "1", B: "" }, '{"A": "1", "B": ""}'],
    [{}, "{}"],
  ])("%j → %s", async (value, written) => {
    expect(await set("", "t", value)).toBe(`terminal:\n  t: ${written}\n`);
  });
});

describe("unsetting a key keeps everything else, to the byte", () => {
  test.each([
    ["not there", "terminal:\n  a: 1\n", "terminal:\n  a: 1\n"],
    ["no section", "# c\n", "# c\n"],
    ["an empty file", "", ""],
    ["the only key", "terminal:\n  t: 5\n", "terminal:\n"],
    ["with comments around", "terminal:\n  # above\n  t: 5 # with\n  # below\n  a: 1\n", "terminal:\n  # above\n  # below\n  a: 1\n"],
    ["without value", "terminal:\n  t:\n  a: 1\n", "terminal:\n  a: 1\n"],
    ["a block list", "terminal:\n  t:\n    - a\n    - b\n  a: 1\n", "terminal:\n  a: 1\n"],
    ["a block text", "terminal:\n  t: |\n    a\n\n  a: 1\n", "terminal:\n\n  a: 1\n"],
    ["no line break at the end", "terminal:\n  a: 1\n  t: 5", "terminal:\n  a: 1\n"],
    ["first of a flow map", "terminal: { t: 5, a: 1 }\n", "terminal: { a: 1 }\n"],
    ["last of a flow map", "terminal: { a: 1, t: 5 }\n", "terminal: { a: 1 }\n"],
    ["last of a flow map with a comma", "terminal: { a: 1, t: 5, }\n", "terminal: { a: 1, }\n"],
    ["only one of a flow map", "terminal: {t: 5}\n", "terminal: {}\n"],
    ["CRLF", "terminal:\r\n  t: 5\r\n  a: 1\r\n", "terminal:\r\n  a: 1\r\n"],
  ])("%s", async (_, text, expected) => {
    expect(await unset(text, "t")).toBe(expected);
  });

  test("refuses to take away what others use", async () => {
    await expect(unset("terminal:\n  t: &x 1\n  a: *x\n", "t")).rejects.toMatchObject({ code: "config-not-editable" });
  });
});
