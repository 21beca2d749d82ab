import { expect, test } from "vitest";
import { sandboxSpec } from "../../../../test/helpers/sandbox-spec.ts";
import { daemonFor, describeLoss } from "./daemon-fit.ts";

const image = { id: "sha256:1", user: null, home: null, platform: "linux/amd64" };

test("holdfastd runs where it was built for, and nowhere else", () => {
  const here = { daemonProgram: "/holdfastd", required: false, architecture: "x64" };
  expect(daemonFor(image, here)).toBe("/holdfastd");
  expect(daemonFor({ ...image, platform: "linux/arm64" }, { ...here, architecture: "arm64" })).toBe("/holdfastd");
  expect(daemonFor(image, { ...here, architecture: "arm64" })).toBeNull();
  expect(daemonFor({ ...image, platform: "windows/amd64" }, here)).toBeNull();
  expect(daemonFor(image, { ...here, daemonProgram: null })).toBeNull();
});

test("where it is required, doing without it is an error", () => {
  const required = { daemonProgram: "/holdfastd", required: true, architecture: "x64" };
  expect(daemonFor(image, required)).toBe("/holdfastd");
  expect(() => daemonFor({ ...image, platform: "linux/s390x" }, required)).toThrow("the image is for linux/s390x");
});

test("what is lost is said, with the reason, and with a setting that has no effect", () => {
  const spec = sandboxSpec();
  expect(describeLoss({ ...image, platform: "linux/s390x" }, { daemonProgram: "/holdfastd", spec })).toContain(
    "the image is for linux/s390x",
  );
  expect(describeLoss(image, { daemonProgram: null, spec })).toMatch(/no terminals$/);
  expect(describeLoss(image, { daemonProgram: null, spec: { ...spec, idleStopSeconds: 60 } })).toContain("idle_stop_seconds has no effect");
});
