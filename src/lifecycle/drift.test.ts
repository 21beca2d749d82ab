import { describe, expect, test } from "vitest";
import { sandboxSpec } from "../../test/helpers/sandbox-spec.ts";
import { type Bench, type BenchOptions, createBench, openCall, ownerOf } from "../../test/services/lifecycle-bench.ts";
import { createDriver as createLocalDriver } from "../sandbox/drivers/local/driver.ts";

const before = sandboxSpec({ backend: "local", image: "one" });
const after = sandboxSpec({ backend: "local", image: "two", network: false });
const CHANGED = ["image (made with: one; now: two)", "network (made with: yes; now: none)"];
const local = (onDrift: BenchOptions["onDrift"], options: BenchOptions = {}) =>
  createBench({ createDriver: createLocalDriver, ...(onDrift && { onDrift }), ...options });

const warnings = ({ logged }: Bench) => logged.filter(({ level }) => level === "warn");

/** Makes the sandbox of task t as it was before, and leaves it. */
async function made(bench: Bench, { while: work }: { while?: string } = {}): Promise<string> {
  const { sandbox } = await bench.lifecycle.acquire(ownerOf("t"), before);
  if (work !== undefined) await sandbox.run(work);
  await bench.lifecycle.close();
  return sandbox.ref.id;
}

async function found(bench: Bench, spec = after): Promise<{ id: string; origin: string }> {
  const { sandbox, origin } = await bench.anotherLifecycle().acquire(ownerOf("t"), spec);
  return { id: sandbox.ref.id, origin };
}

describe("S17 a sandbox that was made with other settings", () => {
  test("by default is used as it is, and what differs is said", async () => {
    const bench = local(undefined);
    const id = await made(bench);
    expect(await found(bench)).toEqual({ id, origin: "found" });
    const [warning, ...more] = warnings(bench);
    expect(more).toEqual([]);
    expect(warning?.message).toMatch(
      /^the sandbox of task t was made with other settings: .*; it is used as it is \(`holdfast sandbox reset t`/,
    );
    expect(warning?.message).toContain(CHANGED.join(", "));
    expect(warning).toMatchObject({ fields: { sandbox: id, task: "t", changed: CHANGED } });
    expect(bench.audited).toEqual([]);
  });

  test("with recreate makes way for another, which is said and written down", async () => {
    const bench = local("recreate");
    const id = await made(bench);
    const second = await found(bench);
    expect(second.origin).toBe("created");
    expect(second.id).not.toBe(id);
    expect((await bench.existing("t")).map((ref) => ref.id)).toEqual([second.id]);
    expect(warnings(bench).map(({ message }) => message)).toEqual([expect.stringMatching(/; a new one takes its place$/)]);
    expect(bench.audited).toMatchObject([{ what: "removed", sandbox: id, backend: "local", task: "t", reason: "outdated" }]);
    expect(bench.lines.opened - bench.lines.closed).toBe(1);
    // It fits now.
    expect(await found(bench)).toEqual({ id: second.id, origin: "found" });
  });

  test("with reuse is used without a word", async () => {
    const bench = local("reuse");
    const id = await made(bench);
    expect(await found(bench)).toEqual({ id, origin: "found" });
    expect(warnings(bench)).toEqual([]);
  });

  test("with recreate is kept while something runs in it that was left there by a call", async () => {
    const bench = local("recreate");
    const id = await made(bench, { while: "sleep 600 >/dev/null 2>&1 &" });
    expect(await found(bench)).toEqual({ id, origin: "found" });
    expect(warnings(bench).map(({ message }) => message)).toEqual([
      expect.stringMatching(/; it is used as it is, because something runs in it$/),
    ]);
    expect(bench.audited).toEqual([]);
  });

  test("with recreate is kept while a call runs in it", async () => {
    const bench = local("recreate");
    const lease = await bench.lifecycle.acquire(ownerOf("t"), before);
    const call = await openCall(lease);
    expect(await found(bench)).toEqual({ id: lease.sandbox.ref.id, origin: "found" });
    call.finish();
    expect((await call.result).exitCode).toBe(0);
  });

  test("with recreate is kept when it cannot be told whether it is busy", async () => {
    const bench = local("recreate", {
      decorate: (driver) => ({ ...driver, activity: () => Promise.reject(new Error("no answer")) }),
    });
    const id = await made(bench);
    expect(await found(bench)).toEqual({ id, origin: "found" });
    expect(warnings(bench).map(({ message }) => message)).toEqual([
      expect.stringMatching(/because it cannot be told whether something runs in it \(no answer\)$/),
    ]);
  });
});

describe("S17 strictly", () => {
  test.each(["warn", "reuse"] as const)("with %s, what concerns trust makes way for another sandbox", async (onDrift) => {
    const bench = local(onDrift, { strictDrift: true });
    const id = await made(bench);
    const second = await bench.anotherLifecycle().acquire(ownerOf("t"), after);
    expect(second).toMatchObject({ origin: "created", foundDrift: { changed: CHANGED, replaced: true } });
    expect(second.sandbox.ref.id).not.toBe(id);
    expect(warnings(bench).map(({ message }) => message)).toEqual([expect.stringMatching(/; a new one takes its place$/)]);
  });

  test.each([
    ["a mount", { mounts: [{ source: "/srv", target: "/srv", readOnly: true }] }],
    ["a secret", { env: { TOKEN: "another" } }],
    ["an argument", { extraArgs: ["--privileged"] }],
  ])("%s concerns trust", async (_, changes) => {
    const bench = local("warn", { strictDrift: true });
    await made(bench);
    expect((await found(bench, { ...before, ...changes })).origin).toBe("created");
  });

  test("nothing goes that is busy, and other settings follow the rule", async () => {
    const bench = local("warn", { strictDrift: true });
    const id = await made(bench, { while: "sleep 600 >/dev/null 2>&1 &" });
    const busy = await bench.anotherLifecycle().acquire(ownerOf("t"), after);
    expect(busy).toMatchObject({ origin: "found", foundDrift: { changed: CHANGED, replaced: false } });
    expect(busy.sandbox.ref.id).toBe(id);
    const other = local("warn", { strictDrift: true });
    await made(other);
    expect((await found(other, { ...before, image: "two" })).origin).toBe("found");
    expect(warnings(other).map(({ message }) => message)).toEqual([
      expect.stringContaining("; it is used as it is (`holdfast sandbox reset t`"),
    ]);
  });
});

test("S17 settings that count anew for every use are no reason for another sandbox, nor for a word", async () => {
  const bench = local("recreate");
  const id = await made(bench);
  expect(await found(bench, { ...before, cwd: "/tmp", forwardEnv: ["TERM"], idleStopSeconds: 5 })).toEqual({ id, origin: "found" });
  expect(warnings(bench)).toEqual([]);
});

test("S17 a sandbox that cannot be removed is not replaced, and the failure is heard of and written down", async () => {
  const bench = local("recreate", { decorate: (driver) => ({ ...driver, destroy: () => Promise.reject(new Error("stuck")) }) });
  const id = await made(bench);
  await expect(found(bench)).rejects.toThrow("stuck");
  expect((await bench.existing("t")).map((ref) => ref.id)).toEqual([id]);
  expect(bench.audited).toMatchObject([{ what: "removed", sandbox: id, reason: "outdated", error: "stuck" }]);
  expect(bench.lines).toEqual({ opened: 2, closed: 2 });
});
