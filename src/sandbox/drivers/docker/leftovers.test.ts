import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createManualClock } from "../../../../test/helpers/manual-clock.ts";
import { temporaryDirectory } from "../../../../test/helpers/temporary-directory.ts";
import { removeTree } from "../../../base/remove-tree.ts";
import type { Leftover, SandboxRef } from "../../driver.ts";
import { profileDirectory } from "../shared/refs.ts";
import { readRecord, writeRecord } from "../shared/sandbox-record.ts";
import { findLeftovers } from "./leftovers.ts";
import { makePlace, placeOf } from "./place.ts";

const MINUTE = 60_000;
const of = { install: "here", profile: "default" };
const owner = (task: string) => ({ ...of, task });

async function openPlaces() {
  const place = await temporaryDirectory();
  onTestFinished(() => place[Symbol.asyncDispose]());
  const root = join(place.path, "docker");
  const directory = profileDirectory(root, of);
  const clock = createManualClock();
  const refs: SandboxRef[] = [];
  const findings = () => findLeftovers({ root, directory, engine: "docker", refs, clock, remove: removeTree });
  return {
    clock,
    directory,
    refs,
    findings,
    placeOf: (task: string) => placeOf(root, owner(task)),
    /** What is left after a maker that got as far as this. */
    async make(task: string, { record = true, container = true, keepFiles = true } = {}) {
      const where = placeOf(root, owner(task));
      const createdAt = await makePlace(where, { keepFiles, now: clock.now() });
      const ref: SandboxRef = { driver: "docker", id: `c-${task}`, owner: owner(task), fingerprint: "f", state: "stopped", createdAt };
      if (record) await writeRecord(where.directory, { version: 1, id: ref.id, ...ref.owner, fingerprint: "f", createdAt, settings: {} });
      if (container) refs.push(ref);
      return { ...where, run: join(where.directory, "run", String(createdAt)) };
    },
    /** Found and removed, but for files unless they are asked for. */
    async clear({ files = false } = {}) {
      for (const leftover of (await findings()).filter((each) => files || !each.files)) await leftover.remove();
    },
  };
}

const whatOf = (found: readonly Leftover[]) => found.map(({ what }) => what).sort();

test("S30 where nothing was ever made, nothing is left", async () => {
  expect(await (await openPlaces()).findings()).toEqual([]);
});

test("S30 nothing of a container that is there is left over, however old it is", async () => {
  const { make, findings, clock, clear } = await openPlaces();
  const { run, workspace } = await make("t");
  await clock.advance(60 * MINUTE);
  expect(await findings()).toEqual([]);
  await clear({ files: true });
  expect([run, workspace].map((path) => existsSync(path))).toEqual([true, true]);
});

test("S30 what a killed maker left goes, but not while it may still be at work", async () => {
  const { make, findings, clock, clear, directory } = await openPlaces();
  const { directory: own, run } = await make("t", { record: false, container: false, keepFiles: false });
  for (const name of ["cid-1234", "env-1234", "sandbox.json.ab12"]) await writeFile(join(own, name), "");
  await clock.advance(2 * MINUTE - 1);
  expect(await findings()).toEqual([]);
  await clock.advance(1);
  expect(whatOf(await findings())).toEqual([join(own, "cid-1234"), join(own, "env-1234"), run, join(own, "sandbox.json.ab12")].sort());
  expect((await findings()).every(({ files }) => !files)).toBe(true);
  await clear();
  expect(await readdir(directory)).toEqual([]);
});

test("S30 a record without a container goes; the files of its users only when they are asked for", async () => {
  const { make, findings, clock, clear, directory } = await openPlaces();
  const { directory: own, run, workspace, home } = await make("t", { container: false });
  await writeFile(join(workspace, "work"), "precious");
  await writeFile(join(home, ".login"), "precious");
  await clock.advance(2 * MINUTE);
  expect(whatOf(await findings())).toEqual([home, run, join(own, "sandbox.json"), workspace].sort());
  expect((await findings()).find(({ what }) => what.endsWith("sandbox.json"))?.why).toBe("the record of task t, whose container is gone");
  expect(whatOf((await findings()).filter(({ files }) => files))).toEqual([home, workspace].sort());
  await clear();
  expect((await readdir(own)).sort()).toEqual(["home", "workspace"]);
  expect(whatOf(await findings())).toEqual([home, workspace].sort());
  await clear({ files: true });
  expect(await readdir(directory)).toEqual([]);
});

test("S30 the socket of an earlier container goes, and nothing of the one that took its place", async () => {
  const { make, findings, clock, clear, placeOf: where } = await openPlaces();
  const before = await make("t", { container: false });
  await clock.advance(2 * MINUTE);
  const now = await make("t");
  await writeFile(join(now.workspace, "work"), "precious");
  expect(whatOf(await findings())).toEqual([before.run]);
  await clear({ files: true });
  expect(
    [before.run, now.run, join(where("t").directory, "sandbox.json"), join(now.workspace, "work")].map((path) => existsSync(path)),
  ).toEqual([false, true, true, true]);
});

test("S30 files that a new sandbox has taken over since they were found stay", async () => {
  const { make, findings, clock } = await openPlaces();
  const { workspace } = await make("t", { container: false, record: false });
  await writeFile(join(workspace, "work"), "precious");
  await clock.advance(3 * MINUTE);
  const files = (await findings()).filter((each) => each.files);
  expect(files).toHaveLength(2);
  await make("t");
  for (const each of files) await expect(each.remove()).rejects.toMatchObject({ code: "busy" });
  expect(existsSync(join(workspace, "work"))).toBe(true);
});

test("S10 S30 variables that a killed maker wrote down go also when the task has a container", async () => {
  const { make, findings, clock, clear } = await openPlaces();
  const { directory: own } = await make("t");
  await clock.advance(60 * MINUTE);
  await make("t", { container: false, record: false });
  await writeFile(join(own, "env-1234"), "HTTPS_PROXY=secret\n");
  expect(await findings(), "a maker may be at work").toEqual([]);
  await clock.advance(2 * MINUTE);
  expect(whatOf(await findings())).toContain(join(own, "env-1234"));
  await clear();
  expect(existsSync(join(own, "env-1234"))).toBe(false);
});

test("S30 a record that cannot be read hides nothing of the others, and goes", async () => {
  const { make, findings, clock, clear, directory } = await openPlaces();
  const broken = await make("broken", { container: false, keepFiles: false });
  const fine = await make("fine", { container: false, keepFiles: false });
  await writeFile(join(broken.directory, "sandbox.json"), "{");
  await clock.advance(2 * MINUTE);
  expect(whatOf(await findings())).toEqual([broken, fine].flatMap(({ run, directory: own }) => [run, join(own, "sandbox.json")]).sort());
  await clear();
  expect(await readdir(directory)).toEqual([]);
});

test("S30 a link in the files leads to nothing that is removed, and a directory that was never used goes", async () => {
  const { make, clock, clear, directory } = await openPlaces();
  const outside = await temporaryDirectory();
  onTestFinished(() => outside[Symbol.asyncDispose]());
  await writeFile(join(outside.path, "precious"), "");
  const { workspace } = await make("t", { container: false });
  await symlink(outside.path, join(workspace, "way-out"));
  await mkdir(join(directory, "unused"));
  await clock.advance(2 * MINUTE);
  await clear({ files: true });
  expect(await readdir(directory)).toEqual([]);
  expect(await readdir(outside.path)).toEqual(["precious"]);
});

test("S3 S30 what another engine has is not gone because this one does not know it", async () => {
  const { make, findings, clock, directory, placeOf: where } = await openPlaces();
  const { directory: own } = await make("t", { container: false });
  const { createdAt, ...record } = { ...(readRecord(own) ?? expect.fail("no record")) };
  await writeRecord(own, { ...record, createdAt, engine: "podman" });
  await clock.advance(2 * MINUTE);
  expect(await findings()).toEqual([]);
  await writeRecord(own, { ...record, createdAt, engine: "docker" });
  expect(await findings()).not.toEqual([]);
  // Somebody listens there, so the container runs, whoever has it.
  const server = createServer().listen(join(where("t").directory, "run", String(createdAt), "socket"));
  await once(server, "listening");
  onTestFinished(() => void server.close());
  expect(await findings()).toEqual([]);
  expect(await readdir(directory)).toEqual(["t"]);
});
