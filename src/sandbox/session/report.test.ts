import { expect, test } from "vitest";
import { parseReport } from "./report.ts";

const report = (...fields: string[]) => parseReport(Buffer.from(fields.map((field) => `${field}\0`).join("")));

test("an ended shell reports where it is and that it saved", () => {
  expect(report("started", "ended", "/a b\nc", "", "", "saved")).toEqual({ kind: "ended", cwd: "/a b\nc", recovered: null, unsaved: null });
});

test("an ended shell reports a recovered directory and why it did not save", () => {
  expect(report("started", "ended", "/a", "/a/b", "/a", "unsaved: no space")).toEqual({
    kind: "ended",
    cwd: "/a",
    recovered: { from: "/a/b", to: "/a" },
    unsaved: "no space",
  });
});

test("a state in the place of a report comes from a shell that could write none", () => {
  expect(parseReport(Buffer.from("__holdfast_saved_cwd=/a\\ b\ndeclare -x A=1\n"))).toMatchObject({
    kind: "ended",
    cwd: "/a b",
    unsaved: expect.stringContaining("could write to no file"),
  });
});

test("a command that was started stays so, whatever became of the last report", () => {
  for (const rest of ["HA\n", "ended\0", "ended\0/a\0\0\0sav", "damaged\0", "\0\0\0\0\0\0"]) {
    expect(parseReport(Buffer.from(`started\0${rest}`))).toEqual({ kind: "started" });
  }
});

test("what an earlier report left behind the last one does not count", () => {
  expect(parseReport(Buffer.from("bad-cwd\0ion\0"))).toEqual({ kind: "bad-cwd" });
  expect(parseReport(Buffer.from("started\0ended\0/\0\0\0saved\0rest"))).toMatchObject({ kind: "ended", cwd: "/", unsaved: null });
});

test.for(["made", "started", "no-session", "damaged", "bad-cwd"])("%s is understood", (kind) => {
  expect(report(kind)).toEqual({ kind });
});

test("a variable that is read-only is named", () => {
  expect(report("read-only", "FIXED")).toEqual({ kind: "read-only", name: "FIXED" });
});

test("no report, an empty one and a foreign one are none", () => {
  expect([parseReport(null), parseReport(new Uint8Array()), report("hello"), parseReport(Buffer.from([0, 0, 0]))]).toEqual([
    null,
    null,
    null,
    null,
  ]);
});
