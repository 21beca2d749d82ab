/**
 * @module Real parts that some tests need and some machines lack. A test whose part is missing is skipped, visibly and with the reason;
 * with HOLDFAST_REQUIRE=all, as in CI, it fails instead.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { postgresBin } from "./postgres-bin.ts";

export type RequirementName = keyof typeof PROBES;

export interface Requirement {
  readonly name: string;
  /** Why it is not met, or null when it is. */
  readonly missing: string | null;
}

/** Each returns why the part is missing, or null. The programs are installed by ./check when it runs as root. */
const PROBES = {
  cc: () => program("cc"),
  clang: () => program("clang"),
  /** A Docker engine of the tests' own, or the one they were told to use. */
  dockerd: () => program("docker") ?? (process.env.HOLDFAST_TEST_ENGINE ? null : (program("dockerd") ?? root())),
  fish: () => program("fish"),
  /** The right to mount a small tmpfs, for tests of a full disk. */
  mount: () => probeMount(),
  mmdebstrap: () => program("mmdebstrap"),
  "musl-gcc": () => program("musl-gcc"),
  podman: () => program("/usr/bin/podman") ?? root(),
  postgres: () => (postgresBin() === undefined ? "postgres is not installed" : null),
  script: () => program("script"),
  tmux: () => program("tmux"),
  top: () => program("top"),
  vim: () => program("vim"),
  zsh: () => program("zsh"),
} satisfies Record<string, () => string | null>;

export const REQUIREMENTS = Object.keys(PROBES) as RequirementName[];

const known = new Map<RequirementName, Requirement>();

export function requirement(name: RequirementName): Requirement {
  const found = known.get(name) ?? { name, missing: PROBES[name]() };
  known.set(name, found);
  return found;
}

/** A `describe` whose tests need the named parts. What needs Docker is not run again where vitest's project is for another engine. */
export function describeIf(needs: RequirementName | RequirementName[], title: string, body: () => void): void {
  if ((process.env.TEST_ENGINE ?? "docker") !== "docker" && [needs].flat().includes("dockerd")) return;
  const { action, reason } = decide([needs].flat().map(requirement), strict());
  if (action === "fail") describe(title, () => failWith(reason));
  else describe.skipIf(action === "skip")(titled(title, reason), body);
}

/** A `test` that needs the named parts. */
export function testIf(needs: RequirementName | RequirementName[], title: string, body: () => void | Promise<void>): void {
  const { action, reason } = decide([needs].flat().map(requirement), strict());
  if (action === "fail") test(title, () => expect.fail(reason));
  else test.skipIf(action === "skip")(titled(title, reason), body);
}

/** What becomes of tests with these needs. */
export function decide(needs: readonly Requirement[], required: boolean): { action: "run" | "skip" | "fail"; reason: string } {
  const missing = needs.filter((need) => need.missing !== null);
  if (missing.length === 0) return { action: "run", reason: "" };
  return { action: required ? "fail" : "skip", reason: missing.map((need) => `needs ${need.name}: ${need.missing}`).join("; ") };
}

function strict(): boolean {
  return process.env.HOLDFAST_REQUIRE === "all";
}

function titled(title: string, reason: string): string {
  return reason === "" ? title : `${title} [${reason}]`;
}

function failWith(reason: string): void {
  test("has what it needs", () => expect.fail(reason));
}

function program(name: string): string | null {
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
  const { error } = spawnSync(name, ["--version"], { stdio: "ignore", env });
  return error === undefined ? null : `${name} is not installed`;
}

function root(): string | null {
  return process.getuid?.() === 0 ? null : "only root can start it for tests";
}

function succeeds(name: string, args: string[], problem: string): string | null {
  return spawnSync(name, args, { stdio: "ignore", timeout: 5000 }).status === 0 ? null : problem;
}

function probeMount(): string | null {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-mount-"));
  try {
    const problem = succeeds("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", directory], "a tmpfs cannot be mounted (not root?)");
    if (problem === null) spawnSync("umount", [directory]);
    return problem;
  } finally {
    rmdirSync(directory);
  }
}
