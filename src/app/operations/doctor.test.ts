import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../test/helpers/temporary-directory.ts";
import type { Availability } from "../../sandbox/driver.ts";
import { createApp } from "../create-app.ts";
import { doctor } from "./doctor.ts";

test("a home that cannot be used is told, and is not healthy", async () => {
  const environment = { PATH: process.env.PATH, HOLDFAST_HOME: "/proc/holdfast-test" };
  const app = await createApp({ environment, cwd: "/" });
  const { healthy, home } = await doctor.run(app, {});
  expect(healthy).toBe(false);
  expect(home).toEqual({ path: "/proc/holdfast-test", problem: expect.stringContaining("install-id"), warnings: [] });
});

test.each<[Availability, { status: string; detail: string; fix: string | null; warnings?: string[] }, boolean]>([
  [{ status: "ready", detail: "all is well" }, { status: "ready", detail: "all is well", fix: null }, true],
  [{ status: "ready", detail: "", warnings: ["careful"] }, { status: "ready", detail: "", fix: null, warnings: ["careful"] }, true],
  [{ status: "not-applicable", reason: "wrong platform" }, { status: "not-applicable", detail: "wrong platform", fix: null }, false],
  [{ status: "broken", reason: "no bash", fix: "install bash" }, { status: "broken", detail: "no bash", fix: "install bash" }, false],
])("a backend that says %o is shown as such", async (availability, shown, healthy) => {
  await using home = await temporaryDirectory();
  const app = await createApp({ environment: { PATH: process.env.PATH, HOLDFAST_HOME: home.path }, cwd: home.path });
  const driver = { ...(await app.driver()), check: async () => availability };
  const report = await doctor.run({ ...app, driverNamed: async () => driver }, {});
  expect(report.healthy).toBe(healthy);
  expect(report.backends.find(({ name }) => name === "local")).toEqual({ name: "local", configured: true, warnings: [], ...shown });
});
