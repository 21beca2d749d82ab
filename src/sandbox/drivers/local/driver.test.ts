import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { alive, printed } from "../../../../test/helpers/collect.ts";
import { driverContext } from "../../../../test/helpers/driver-context.ts";
import { hostHarness } from "../../../../test/helpers/host-harness.ts";
import { createManualClock } from "../../../../test/helpers/manual-clock.ts";
import { sandboxSpec } from "../../../../test/helpers/sandbox-spec.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../../../../test/helpers/temporary-directory.ts";
import { systemClock } from "../../../base/clock.ts";
import { createLogger, type LogRecord } from "../../../base/log.ts";
import type { SandboxDriver } from "../../driver.ts";
import { createDriver } from "./driver.ts";

const owner = { install: "i", profile: "p", task: "default" };
let scratch: TemporaryDirectory;
let driver: SandboxDriver;
let root: string;
beforeEach(async () => {
  scratch = await temporaryDirectory();
  ({ driver } = await hostHarness(createDriver)(scratch.path));
  root = join(scratch.path, "sandboxes", "local");
});
afterEach(() => scratch[Symbol.asyncDispose]());

const directoryOf = ({ install = "i", profile = "p", task = "default" } = {}) => join(root, install, profile, task);

test("a sandbox is a directory named after its owner, with a private record in it", async () => {
  const ref = await driver.create(owner, sandboxSpec());
  const directory = directoryOf();
  expect(JSON.parse(await readFile(join(directory, "sandbox.json"), "utf8"))).toMatchObject({ version: 1, id: ref.id, ...owner });
  expect([(await stat(directory)).mode & 0o777, (await stat(join(directory, "sandbox.json"))).mode & 0o777]).toEqual([0o700, 0o600]);
});

test("nothing is left in the root after sandboxes came and went", async () => {
  const refs = await Promise.all(["a", "b", "a"].map((task) => driver.create({ ...owner, task }, sandboxSpec())));
  await expect(driver.create(owner, sandboxSpec(), { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "aborted" });
  for (const ref of refs) await driver.destroy(ref);
  expect(await readdir(root)).toEqual(["i"]);
  expect(await readdir(join(root, "i", "p"))).toEqual([]);
});

test("a record that is damaged or of another version is an error that names it", async () => {
  const ref = await driver.create(owner, sandboxSpec());
  const path = join(directoryOf(), "sandbox.json");
  const whole = await readFile(path, "utf8");
  for (const text of [
    "",
    "{",
    "[]",
    whole.replace('"version": 1', '"version": 2'),
    whole.replace("{", '{ "extra": 1,'),
    whole.replace(/"task": .*\n/, ""),
  ]) {
    await writeFile(path, text);
    const expected = { code: "state-unreadable", message: expect.stringContaining(path), hint: expect.stringContaining(directoryOf()) };
    await expect(driver.list(owner)).rejects.toMatchObject(expected);
    await expect(driver.connect(ref)).rejects.toMatchObject(expected);
    await expect(driver.create(owner, sandboxSpec())).rejects.toMatchObject(expected);
  }
});

test("a damaged record, or one that is no file, hides no other sandbox and is warned of", async () => {
  const whole = await driver.create(owner, sandboxSpec());
  for (const task of ["empty", "pipe", "folder"]) await mkdir(directoryOf({ task }));
  await writeFile(join(directoryOf({ task: "empty" }), "sandbox.json"), "");
  execFileSync("mkfifo", [join(directoryOf({ task: "pipe" }), "sandbox.json")]);
  await mkdir(join(directoryOf({ task: "folder" }), "sandbox.json"));
  await writeFile(directoryOf({ task: "file" }), "");
  const records: LogRecord[] = [];
  const log = createLogger({ clock: systemClock, level: "warn", sink: (record) => records.push(record) });
  const talking = createDriver(driverContext({ sandboxDir: join(scratch.path, "sandboxes"), log }));
  expect(await talking.list({ install: "i" })).toEqual([whole]);
  const directories = ["empty", "file", "folder", "pipe"].map((task) => directoryOf({ task }));
  expect(records.map(({ fields }) => fields.directory).sort()).toEqual(directories);
});

test("a state directory that somebody removed is made again", async () => {
  const ref = await driver.create(owner, sandboxSpec());
  await rm(join(directoryOf(), "state"), { recursive: true });
  const connection = await driver.connect(ref);
  expect(await printed(connection, "echo works")).toBe("works");
  expect((await stat(connection.stateDir)).mode & 0o777).toBe(0o700);
});

test("what killed processes left is removed when a sandbox is made an hour later, and nothing else", async () => {
  const ref = await driver.create(owner, sandboxSpec());
  const state = join(directoryOf(), "state");
  for (const path of [join(root, ".new-x", "state"), join(root, ".gone-x"), join(state, "pipe-x"), join(state, "sessions")])
    await mkdir(path, { recursive: true });
  await writeFile(join(root, ".gone-x", "file"), "x");
  const left = async () => [...(await readdir(root)), ...(await readdir(state))].sort();
  await driver.create({ ...owner, task: "soon" }, sandboxSpec());
  expect(await left()).toEqual([".gone-x", ".new-x", "i", "pipe-x", "sessions"]);

  const clock = createManualClock(systemClock.now() + 61 * 60 * 1000);
  const later = createDriver(
    driverContext({ sandboxDir: join(scratch.path, "sandboxes"), hostEnv: { PATH: process.env.PATH ?? "" }, clock }),
  );
  await later.create({ ...owner, task: "later" }, sandboxSpec());
  expect(await left()).toEqual(["i", "sessions"]);
  expect(await driver.list(owner)).toEqual([ref]);
});

test("a directory that is in the way is an error, and stays", async () => {
  const ref = await driver.create(owner, sandboxSpec());
  const directory = directoryOf();
  await driver.destroy(ref);
  await mkdir(directory);
  await writeFile(join(directory, "precious"), "x");
  await expect(driver.create(owner, sandboxSpec())).rejects.toMatchObject({ code: "sandbox-create-failed", facts: { directory } });
  expect(await readdir(root)).toEqual(["i"]);
  expect(await readdir(directory)).toEqual(["precious"]);
});

test("a root that cannot be made or read is an error", async () => {
  await mkdir(join(scratch.path, "sandboxes"));
  await writeFile(root, "a file");
  await expect(driver.create(owner, sandboxSpec())).rejects.toMatchObject({ code: "sandbox-create-failed" });
  await expect(driver.list({ install: "i" })).rejects.toMatchObject({ code: "state-unreadable" });
});

test("a removal that was interrupted is finished by the next", async () => {
  const ref = await driver.create(owner, sandboxSpec());
  const connection = await driver.connect(ref);
  const pid = await printed(connection, "sleep 1000 >/dev/null 2>&1 & echo $!");
  await rename(directoryOf(), join(root, `.gone-${ref.id}`));
  expect(await driver.list({ install: "i" })).toEqual([]);

  await driver.destroy(ref);
  const other = await driver.connect(await driver.create({ ...owner, task: "other" }, sandboxSpec()));
  expect(await alive(other, [pid])).toEqual([]);
  expect((await readdir(root)).filter((name) => name.startsWith("."))).toEqual([]);
});

test("profiles that share a root have sandboxes of their own", async () => {
  const refs = await Promise.all(["p", "q"].map((profile) => driver.create({ ...owner, profile }, sandboxSpec())));
  expect(new Set(refs.map(({ id }) => id)).size).toBe(2);
  expect((await driver.list({ install: "i", profile: "q" })).map(({ id }) => id)).toEqual([refs[1]?.id]);
});

test("names that could lead elsewhere stay in the root", async () => {
  const tasks = ["..", "../..", "/etc", "a/../../b", ".", "-rf", "~", "x".repeat(300), "\n"];
  await Promise.all(tasks.map((task) => driver.create({ ...owner, task }, sandboxSpec())));
  await Promise.all(tasks.map((name) => driver.create({ install: name, profile: name, task: name }, sandboxSpec())));
  expect(await readdir(join(root, "i", "p"))).toHaveLength(tasks.length);
  expect(await readdir(root)).toHaveLength(tasks.length + 1);
  expect(await readdir(join(scratch.path, "sandboxes"))).toEqual(["local"]);
});

test("credentials come only from what the driver was given", async () => {
  vi.stubEnv("HOLDFAST_TEST_SECRET", "secret");
  const connection = await driver.connect(await driver.create(owner, sandboxSpec()));
  expect(await printed(connection, "env")).not.toContain("HOLDFAST_TEST_SECRET");
  vi.unstubAllEnvs();
});
