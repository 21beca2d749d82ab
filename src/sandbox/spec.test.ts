import fc from "fast-check";
import { expect, test } from "vitest";
import { sandboxSpec } from "../../test/helpers/sandbox-spec.ts";
import { describeDifference, differences, fingerprint, type SandboxSpec, settingsOf } from "./spec.ts";

const text = fc.string({ unit: "binary", maxLength: 12 });
const count = fc.integer({ min: 0, max: 1_000_000 });
const anySpec: fc.Arbitrary<SandboxSpec> = fc.record({
  backend: text,
  image: fc.option(text),
  persist: fc.boolean(),
  keepFiles: fc.boolean(),
  cwd: fc.option(text),
  env: fc.dictionary(text, text, { maxKeys: 4 }),
  forwardEnv: fc.array(text, { maxLength: 4 }),
  mounts: fc.array(fc.record({ source: text, target: text, readOnly: fc.boolean() }), { maxLength: 3 }),
  limits: fc.record({
    cpu: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
    memoryMb: count,
    diskMb: count,
    pids: count,
    strict: fc.boolean(),
  }),
  hostUser: fc.boolean(),
  network: fc.boolean(),
  idleStopSeconds: count,
  extraArgs: fc.array(text, { maxLength: 4 }),
});

test("two specs share a fingerprint exactly if they say the same", () => {
  fc.assert(
    fc.property(anySpec, anySpec, (one, other) => {
      expect(fingerprint(one) === fingerprint(other)).toBe(JSON.stringify(sorted(one)) === JSON.stringify(sorted(other)));
    }),
  );
});

test("a change anywhere changes it", () => {
  fc.assert(
    fc.property(anySpec, fc.nat(), (spec, choice) => {
      const paths = leaves(spec);
      const path = paths[choice % paths.length] ?? [];
      const changed = structuredClone(spec) as unknown;
      change(changed, path);
      expect(fingerprint(changed as SandboxSpec), path.join(".")).not.toBe(fingerprint(spec));
    }),
  );
});

test("what is added, taken away or swapped changes it", () => {
  const before = sandboxSpec({ forwardEnv: ["A", "B"], env: { A: "1" } });
  const variants = [
    sandboxSpec({ forwardEnv: ["B", "A"], env: { A: "1" } }),
    sandboxSpec({ forwardEnv: ["A"], env: { A: "1" } }),
    sandboxSpec({ forwardEnv: ["A", "B", ""], env: { A: "1" } }),
    sandboxSpec({ forwardEnv: ["A,B"], env: { A: "1" } }),
    sandboxSpec({ forwardEnv: ["A", "B"], env: { A: "1", B: "" } }),
    sandboxSpec({ forwardEnv: ["A", "B"], env: {} }),
  ];
  expect(new Set([before, ...variants].map(fingerprint)).size).toBe(variants.length + 1);
});

test("the order of fields does not matter, and it is short plain text", () => {
  fc.assert(
    fc.property(anySpec, (spec) => {
      const reversed = Object.fromEntries(Object.entries({ ...spec, limits: backwards(spec.limits), env: backwards(spec.env) }).reverse());
      expect(fingerprint(reversed as unknown as SandboxSpec)).toBe(fingerprint(spec));
    }),
  );
  expect(fingerprint(sandboxSpec())).toMatch(/^[0-9a-f]{32}$/);
});

const made = (spec: SandboxSpec) => ({ fingerprint: fingerprint(spec), settings: settingsOf(spec) });
const before = sandboxSpec({
  image: "debian:bookworm",
  env: { KEPT: "same", CHANGED: "one", GONE: "old" },
  mounts: [{ source: "/data", target: "/data", readOnly: true }],
  limits: { cpu: 1, memoryMb: 512, diskMb: 0, pids: 256, strict: false },
});

test.each<[string, Partial<SandboxSpec>, string[]]>([
  ["image", { image: "debian:trixie" }, ["image (made with: debian:bookworm; now: debian:trixie)"]],
  ["an image by its id", { image: "sha256:4bcf" }, ["image (made with: debian:bookworm; now: sha256:4bcf)"]],
  ["no image", { image: null }, ["image (made with: debian:bookworm; now: none)"]],
  ["files", { keepFiles: false }, ["files in home and workspace (made with: kept; now: dropped)"]],
  [
    "variables",
    { env: { KEPT: "same", CHANGED: "two", NEW: "" } },
    [
      "variable CHANGED (made with: one value; now: another value)",
      "variable GONE (made with: one value; now: not there)",
      "variable NEW (made with: not there; now: another value)",
    ],
  ],
  [
    "a mount's source",
    { mounts: [{ source: "/srv", target: "/data", readOnly: true }] },
    ["mount at /data (made with: /data, read-only; now: /srv, read-only)"],
  ],
  [
    "a mount's mode",
    { mounts: [{ source: "/data", target: "/data", readOnly: false }] },
    ["mount at /data (made with: /data, read-only; now: /data)"],
  ],
  [
    "a mount's place",
    { mounts: [{ source: "/data", target: "/other", readOnly: true }] },
    ["mount at /data (made with: /data, read-only; now: not there)", "mount at /other (made with: not there; now: /data, read-only)"],
  ],
  [
    "limits",
    { limits: { cpu: 0.5, memoryMb: 0, diskMb: 100, pids: 0, strict: false } },
    [
      "cpu (made with: 1; now: 0.5)",
      "memory (made with: 512 MB; now: unlimited)",
      "disk (made with: unlimited; now: 100 MB)",
      "number of processes (made with: 256; now: unlimited)",
    ],
  ],
  ["the user", { hostUser: true }, ["user (made with: the image's; now: the caller's)"]],
  ["the network", { network: false }, ["network (made with: yes; now: none)"]],
  ["extra arguments", { extraArgs: ["-e", "TOKEN=hush"] }, ["extra arguments (made with: none; now: another value)"]],
])("S17 a change of %s is named exactly, and nothing else is", (_name, change, expected) => {
  const changed = differences(made(before), { ...before, ...change }).map(describeDifference);
  expect(changed.sort()).toEqual([...expected].sort());
});

test("S17 what counts anew for every use makes no sandbox outdated", () => {
  const now = {
    ...before,
    cwd: "/srv",
    forwardEnv: ["TOKEN"],
    idleStopSeconds: 60,
    persist: false,
    limits: { ...before.limits, strict: true },
  };
  expect(fingerprint(now)).not.toBe(fingerprint(before));
  expect(differences(made(before), now)).toEqual([]);
});

test("S17 a sandbox that another system made has no differences; one whose settings are not known has only its fingerprint", () => {
  expect(differences({ fingerprint: "" }, before)).toEqual([]);
  const [lost, ...more] = differences({ fingerprint: "0123" }, before);
  expect({ lost, more }).toEqual({ lost: { setting: "fingerprint", made: "0123", wanted: fingerprint(before) }, more: [] });
  expect(differences({ fingerprint: fingerprint(before) }, before)).toEqual([]);
});

test("S10 S17 no value of a variable and no extra argument is in the settings, nor in what differs", () => {
  const secret = fc.string({ maxLength: 40 }).map((text) => `hush-${text}`);
  fc.assert(
    fc.property(secret, secret, secret, (one, other, argument) => {
      const [old, now] = [sandboxSpec({ env: { TOKEN: one } }), sandboxSpec({ env: { TOKEN: other }, extraArgs: [argument] })];
      const said = [settingsOf(old), settingsOf(now), differences(made(old), now)].flatMap(texts);
      expect(said.filter((text) => [one, other, argument].some((hidden) => text.includes(hidden)))).toEqual([]);
    }),
  );
});

/** Every text in a value, names of fields too. */
function texts(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [String(value)];
  return Object.entries(value).flatMap(([name, field]) => [name, ...texts(field)]);
}

function backwards<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).reverse()) as T;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, field]) => [name, sorted(field)] as const);
  return entries.sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The path to every value that is not itself made of others. */
function leaves(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [[...path]];
  return Object.entries(value).flatMap(([name, field]) => leaves(field, [...path, name]));
}

function change(holder: unknown, [name = "", ...rest]: readonly string[]): void {
  const fields = holder as Record<string, unknown>;
  const value = fields[name];
  if (rest.length > 0) change(value, rest);
  else if (typeof value === "boolean") fields[name] = !value;
  else if (typeof value === "number") fields[name] = value === 0 ? 1 : value / 2;
  else fields[name] = value === null ? "" : `${value}x`;
}
