import { expect, test, vi } from "vitest";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { randomId } from "../base/ids.ts";
import { findMarked } from "../base/process-tree.ts";
import { createSupervisors } from "./supervisors.ts";

test("K18 supervisors that are taken at once are different ones, and one stays in reserve", async () => {
  await using directory = await temporaryDirectory();
  const family = { variable: "FAMILY", value: randomId() };
  const env = { PATH: process.env.PATH ?? "", [family.variable]: family.value };
  const supervisors = createSupervisors({ program: ["cat"], env, directory: directory.path, reserve: true });
  const taken = await Promise.all(Array.from({ length: 4 }, () => supervisors.take()));
  try {
    expect(new Set(taken.map(({ pid }) => pid)).size).toBe(4);
    expect(new Set(taken.map(({ mark }) => mark)).size).toBe(4);
    await vi.waitFor(() => expect(findMarked(family)).toHaveLength(5), { timeout: 60_000, interval: 20 });
  } finally {
    for (const supervisor of taken) supervisor.dismiss();
    supervisors.close();
  }
  await vi.waitFor(() => expect(findMarked(family)).toEqual([]), { timeout: 60_000, interval: 20 });
});
