import { describe, expect, test } from "vitest";
import type { SandboxRef } from "../sandbox/driver.ts";
import { isPrunable, type KeepingRules, whatStays, whenItGoes, whyKept } from "./keeping.ts";

const rules: KeepingRules = { lifetime_seconds: 300, idle_stop_seconds: 0, docker_orphan_reaper: true, container_persistent: true };
const HOUR = 3_600_000;
const ended = Date.parse("2026-01-02T10:00:00Z");
const iso = (at: number) => new Date(at).toISOString();
const running = { state: "running", persists: true, stoppedAt: null, createdAt: iso(ended - HOUR) } as const;
const stopped = { ...running, state: "stopped", stoppedAt: iso(ended) } as const;

describe("S30 why a sandbox is kept", () => {
  test.each([
    [running, {}, true, "persists"],
    [{ ...running, persists: false }, {}, true, "until its process ends"],
    [stopped, {}, true, "stopped; may go from 2026-01-02T10:10:00.000Z on"],
    // The reaper counts a minute at least.
    [stopped, { lifetime_seconds: 1 }, true, "stopped; may go from 2026-01-02T10:02:00.000Z on"],
    [stopped, { docker_orphan_reaper: false }, true, "stopped; until it is removed"],
    [{ ...stopped, stoppedAt: null }, {}, true, "stopped; until it is removed"],
    [stopped, {}, false, "stopped; until it is removed"],
  ] as const)("%j with %j and files of its own: %s", (kept, changes, isolatesFiles, why) => {
    expect(whyKept(kept, { rules: { ...rules, ...changes }, isolatesFiles })).toBe(why);
  });
});

describe("S30 when a sandbox goes", () => {
  const goes = (kept: typeof running | typeof stopped, changes: Partial<KeepingRules> = {}, now = ended) =>
    whenItGoes(kept, { rules: { ...rules, ...changes }, isolatesFiles: true, now }).join("\n");

  test("one that runs stops when nothing uses it, if that is asked for", () => {
    expect(goes(running)).toContain("it does not stop by itself");
    expect(goes(running, { idle_stop_seconds: 90 })).toContain("nothing has used it for 90 s (terminal.idle_stop_seconds); its files stay");
    expect(goes(stopped)).not.toContain("by itself");
  });

  test("one that does not persist goes with its process", () => {
    expect(goes({ ...running, persists: false } as unknown as typeof running)).toContain("the process that made it ends");
    expect(goes(running)).not.toContain("the process that made it");
  });

  test("the reaper takes what ended long ago, and says from when on", () => {
    expect(goes(running)).toContain("ended more than 600 s ago goes (terminal.docker_orphan_reaper); this one runs");
    expect(goes(stopped, {}, ended + 599_000)).toContain(": this one from 2026-01-02T10:10:00.000Z on");
    expect(goes(stopped, {}, ended + 601_000)).toContain(": this one may go any time");
    expect(goes({ ...stopped, stoppedAt: null } as unknown as typeof stopped)).toContain("when this one ended is not known, so it stays");
    expect(goes(stopped, { docker_orphan_reaper: false })).toContain("the orphan reaper is off");
  });

  test("on the host no reaper is spoken of", () => {
    expect(whenItGoes(running, { rules, isolatesFiles: false, now: ended }).join("\n")).not.toContain("reaper");
  });

  test("what stays is said", () => {
    expect(whatStays({ kept: true, isolatesFiles: true })).toContain("stay for the next one of the task");
    expect(whatStays({ kept: false, isolatesFiles: true })).toMatch(/^nothing:/);
    expect(whatStays({ kept: true, isolatesFiles: false })).toContain("the host's own files, which stay");
  });
});

describe("S30 prune", () => {
  const owner = { install: "i", profile: "default", task: "t" };
  const ref: SandboxRef = {
    driver: "docker",
    id: "c",
    owner,
    fingerprint: "",
    state: "stopped",
    createdAt: ended - HOUR,
    stoppedAt: ended,
  };

  test.each([
    ["ended long ago", ref, ended + 600_001, true],
    ["ended lately", ref, ended + 600_000, false],
    ["runs", { ...ref, state: "running", stoppedAt: undefined }, ended + 24 * HOUR, false],
    ["never ran, and was made long ago", { ...ref, stoppedAt: undefined }, ended, true],
    ["never ran, and was made just now", { ...ref, stoppedAt: undefined, createdAt: ended }, ended, false],
  ] as const)("of one that %s", (_name, of, now, expected) => {
    expect(isPrunable(of, { rules, now })).toBe(expected);
  });
});
