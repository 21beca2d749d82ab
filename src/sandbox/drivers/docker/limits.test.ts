import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createManualClock } from "../../../../test/helpers/manual-clock.ts";
import { temporaryDirectory } from "../../../../test/helpers/temporary-directory.ts";
import { silentLogger } from "../../../base/log.ts";
import { createDiskKnowledge, leftOut, refusesDisk } from "./limits.ts";

test.each([
  "docker: Error response from daemon: --storage-opt is supported only for overlay over xfs with 'pquota' mount option.",
  "Error: creating container storage: storage option overlay.size only supported for backingFS XFS. Found tmpfs",
])("S7 an engine whose storage has no limits is understood: %s", (stderr) => {
  expect(refusesDisk({ code: 125, stdout: "", stderr })).toBe(true);
  expect(refusesDisk({ code: 0, stdout: "", stderr })).toBe(false);
});

test.each([
  "docker: Error response from daemon: Conflict. The container name is already in use",
  "Error: writing blob: no space left on device",
  "",
])("S7 another failure is not taken for that: %s", (stderr) => {
  expect(refusesDisk({ code: 125, stdout: "", stderr })).toBe(false);
});

test("S7 limits that an engine left out are found among its warnings, and nothing else is", () => {
  const memory = "WARNING: Your kernel does not support memory limit capabilities or the cgroup is not mounted. Limitation discarded.";
  const cpu = "WARNING: Your kernel does not support CPU cfs quota. Quota discarded.";
  const cgroup = "Resource limits are not supported and ignored on cgroups V1 rootless systems";
  // The memory is limited, only that nothing is said of swap.
  const swap = "WARNING: Your kernel does not support swap limit capabilities or the cgroup is not mounted. Memory limited without swap.";
  const platform = "WARNING: The requested image's platform (linux/arm64) does not match the detected host platform (linux/amd64)";
  expect(leftOut([memory, swap, platform, "", ` ${cgroup} `].join("\n"))).toEqual([memory, cgroup]);
  expect(leftOut(cpu)).toEqual([cpu]);
  expect(leftOut("")).toEqual([]);
});

async function knowledge() {
  const place = await temporaryDirectory();
  onTestFinished(() => place[Symbol.asyncDispose]());
  const path = join(place.path, "no-disk-limit");
  const clock = createManualClock();
  return { path, clock, disk: createDiskKnowledge(path, { clock, log: silentLogger }) };
}

test("S7 what an engine cannot is known to other processes, for a day, and of that engine alone", async () => {
  const { path, clock, disk } = await knowledge();
  expect(disk.cannot("docker 1")).toBe(false);
  disk.learn("docker 1");
  const other = createDiskKnowledge(path, { clock, log: silentLogger });
  expect([other.cannot("docker 1"), other.cannot("docker 2")]).toEqual([true, false]);
  await clock.advance(24 * 3600 * 1000 - 1);
  expect(other.cannot("docker 1")).toBe(true);
  await clock.advance(1);
  expect(other.cannot("docker 1")).toBe(false);
  other.learn("docker 2");
  expect([disk.cannot("docker 1"), disk.cannot("docker 2")]).toEqual([false, true]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readFile(path, "utf8")).toMatch(/^docker 2\n\d+\n$/);
});
