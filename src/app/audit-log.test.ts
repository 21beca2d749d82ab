import { execFileSync } from "node:child_process";
import { appendFile, mkdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createManualClock } from "../../test/helpers/manual-clock.ts";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import type { AuditEntry } from "../base/audit.ts";
import { createLogger, type LogRecord } from "../base/log.ts";
import { createAuditLog, readAuditLog } from "./audit-log.ts";

const MEGABYTE = 1024 * 1024;
const entry = (sandbox: string): AuditEntry => ({
  what: "removed",
  sandbox,
  backend: "docker",
  profile: "default",
  task: "build",
  reason: "forced",
});

async function openLog() {
  const place = await temporaryDirectory();
  onTestFinished(() => place[Symbol.asyncDispose]());
  const path = join(place.path, "profile/audit.log");
  const clock = createManualClock(Date.parse("2026-01-02T03:04:05.678Z"));
  const logged: LogRecord[] = [];
  const log = createLogger({ clock, level: "debug", sink: (record) => logged.push(record) });
  const audit = createAuditLog({ path, program: "holdfast sandbox rm", clock, log });
  return { path, clock, logged, audit, sandboxes: () => readAuditLog(path).map(({ sandbox }) => sandbox) };
}

test("S31 each entry is a line that says what, why, when and by which process, for nobody else to read", async () => {
  const { path, clock, audit } = await openLog();
  audit(entry("one"));
  await clock.advance(1000);
  audit({ ...entry("two"), error: "stuck" });
  const by = { program: "holdfast sandbox rm", pid: process.pid, host: hostname() };
  expect(readAuditLog(path)).toEqual([
    { time: "2026-01-02T03:04:05.678Z", ...entry("one"), by },
    { time: "2026-01-02T03:04:06.678Z", ...entry("two"), error: "stuck", by },
  ]);
  expect((await readFile(path, "utf8")).split("\n")).toHaveLength(3);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("K2 S31 an entry quotes no password", async () => {
  const { path, audit } = await openLog();
  audit({ ...entry("one"), reason: "postgres://me:hidden@db/x", error: "cannot reach postgres://db/x?password=hidden" });
  expect(await readFile(path, "utf8")).not.toContain("hidden");
});

test("S31 a log that is not there holds nothing", async () => {
  expect((await openLog()).sandboxes()).toEqual([]);
});

test("S31 a log that has grown large makes room for another, and both are read", async () => {
  const { path, audit, sandboxes } = await openLog();
  audit(entry("oldest"));
  // What is between is no line, as far as anybody who reads it can tell.
  await truncate(path, 4 * MEGABYTE);
  await appendFile(path, "\n");
  audit(entry("old"));
  expect(sandboxes()).toEqual(["oldest", "old"]);
  expect((await stat(path)).size).toBeLessThan(MEGABYTE);
  await writeFile(path, `${JSON.stringify(entry("newer"))}\n${" ".repeat(4 * MEGABYTE)}\n`);
  audit(entry("newest"));
  expect(sandboxes()).toEqual(["newer", "newest"]);
});

test("S31 a log that cannot be written fails nothing, but is told with what it should have held", async () => {
  const { path, audit, logged } = await openLog();
  await mkdir(path, { recursive: true });
  audit(entry("one"));
  expect(logged).toMatchObject([
    {
      level: "warn",
      message: expect.stringContaining(`the audit log ${path} cannot be written: `),
      fields: { path, sandbox: "one", reason: "forced" },
    },
  ]);
});

test("S31 half a line is left out, and the next entry is not lost with it", async () => {
  const { path, audit, sandboxes } = await openLog();
  audit(entry("one"));
  await appendFile(path, `{"time":"2026-01-02T03:04:05.678Z","what":"remo`);
  audit(entry("two"));
  audit(entry("three"));
  expect(sandboxes()).toEqual(["one", "two", "three"]);
});

test.each([
  ["a pipe, which nobody waits for", "mkfifo"],
  ["a directory", "mkdir"],
])("S31 a log that is %s, fails nothing, is told, and holds nothing", async (_, make) => {
  const { path, audit, logged, sandboxes } = await openLog();
  await mkdir(dirname(path), { recursive: true });
  for (const file of [path, `${path}.1`]) execFileSync(make, [file]);
  audit(entry("one"));
  expect(logged).toMatchObject([{ level: "warn", message: `the audit log ${path} cannot be written: it is not a regular file` }]);
  expect(sandboxes()).toEqual([]);
});
