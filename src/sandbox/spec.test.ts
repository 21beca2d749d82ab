import fc from "fast-check";
import { expect, test } from "vitest";
import { sandboxSpec } from "../../test/helpers/sandbox-spec.ts";
import { fingerprint, type SandboxSpec } from "./spec.ts";

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
