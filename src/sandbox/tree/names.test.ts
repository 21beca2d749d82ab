import { describe, expect, test } from "vitest";
import { readName, refuseTarget } from "./names.ts";

describe("names of entries", () => {
  test.for([
    ["a", ["a"]],
    ["./a//b/./c/", ["a", "b", "c"]],
    ["./", []],
    ["...", ["..."]],
    ["x".repeat(255), ["x".repeat(255)]],
  ] as const)("%j is taken apart", ([name, parts]) => expect(readName(name)).toEqual({ parts, garbled: false }));

  test.for(["..", "a/../b", "/a", "a\0b", "x".repeat(256), "a/".repeat(2_048), "../a", "a/.."])("%j is refused", (name) =>
    expect(() => readName(name)).toThrow(expect.objectContaining({ code: "protocol" })),
  );

  test("one that is no UTF-8 is recognised", () => expect(readName("a/\uFFFD").garbled).toBe(true));
});

describe("targets of links", () => {
  test.for([
    ["a/b/l", "c"],
    ["a/b/l", "../../c"],
    ["a/b/l", "./../x/y"],
    ["l", "."],
    ["a/l", ".."],
  ] as const)("%s -> %s stays in the tree", ([link, target]) => expect(refuseTarget(link.split("/"), target)).toBe(null));

  test.for([
    ["l", ".."],
    ["a/l", "../../x"],
    ["a/l", "/etc/passwd"],
    ["a/l", "//x"],
    // `x` may be another link, which leads to where `..` is out of the tree.
    ["a/l", "x/.."],
    ["a/b/l", "../x/../y"],
    ["l", ""],
    ["l", "a\0b"],
    ["l", "\uFFFD"],
    ["l", "x/".repeat(3_000)],
  ] as const)("%s -> %j is refused", ([link, target]) => expect(refuseTarget(link.split("/"), target)).not.toBe(null));
});
