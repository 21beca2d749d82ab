import { expect, test } from "vitest";
import { parseEnd } from "./cp.ts";

test.each([
  ["file", null, "file"],
  ["./a:b", null, "./a:b"],
  ["/a:b", null, "/a:b"],
  ["../a:b", null, "../a:b"],
  ["dir/a:b", null, "dir/a:b"],
  [":file", "default", "file"],
  [":/etc/passwd", "default", "/etc/passwd"],
  [":", "default", "."],
  ["build:", "build", "."],
  ["build:out/x:y", "build", "out/x:y"],
  ["two words:~/x", "two words", "~/x"],
])("%j is in the sandbox of task %s: %s", (text, task, path) => {
  expect(parseEnd(text)).toEqual({ task, path });
});

test("S12 a task whose name cannot stand before a colon is named apart", () => {
  expect(parseEnd(":out", "task/with:weird*chars")).toEqual({ task: "task/with:weird*chars", path: "out" });
  expect(parseEnd("build:out", "task/with:weird*chars")).toEqual({ task: "build", path: "out" });
});

test("- is a stream, and an empty path is refused", () => {
  expect(parseEnd("-")).toBe("stream");
  expect(() => parseEnd("")).toThrow(expect.objectContaining({ code: "usage" }));
});
