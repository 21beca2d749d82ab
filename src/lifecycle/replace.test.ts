import { describe, expect, test } from "vitest";
import { sandboxSpec } from "../../test/helpers/sandbox-spec.ts";
import { whatWasLost } from "./replace.ts";

describe("what is lost with a sandbox", () => {
  const capabilities = { persistsAcrossProcesses: true, isolatesFiles: true, startDirectory: "/workspace", testOnly: false };
  const files = (isolatesFiles: boolean, keepFiles: boolean) =>
    whatWasLost({ ...capabilities, isolatesFiles }, sandboxSpec({ keepFiles })).filter((what) => what.includes("files"));

  test("includes files only where they are the sandbox's own", () => {
    expect(files(false, false)).toEqual([]);
    expect(files(true, false)).toEqual(["all files that were only in the sandbox"]);
    expect(files(true, true)).toEqual(["files outside its home and workspace, installed packages among them"]);
  });
});
