import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { DispatchResult } from "../../src/dispatcher/result.ts";
import { soakCount } from "../helpers/soak.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { type Bench, ME, openBench, TTL_MS } from "./bench.ts";

const RUNS = soakCount("dry runs of random boards", { check: 25, soak: 60 });

test("K16 a dry run reports the routing, default assignment and caps included, and changes nothing at all", async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, "board.db");
  await using bench = await openBench({ location: path });
  Object.assign(bench.settings, { defaultAssignee: "writer", maxPerProfile: 1 });
  const [a, b, c, d] = [
    await bench.task(),
    await bench.task(),
    await bench.task({ assignee: null }),
    await bench.task({ assignee: "lane" }),
  ];
  const other = new DatabaseSync(path);
  const version = () => other.prepare("pragma data_version").get();
  const bytes = () => [path, `${path}-wal`].map((file) => readFileSync(file).toString("base64"));
  const before = { version: version(), bytes: bytes(), events: await bench.store.lastEvent() };

  const result = await bench.dispatcher.runOnce("default", { dryRun: true });
  expect(result).toMatchObject({
    spawned: [
      { task: a.id, assignee: "coder", workspace: "scratch" },
      { task: c.id, assignee: "writer", workspace: "scratch" },
    ],
    auto_assigned_default: [{ task: c.id, assignee: "writer" }],
    skipped_per_profile_capped: [{ task: b.id, assignee: "coder", running: 1 }],
    skipped_nonspawnable: [{ task: d.id, assignee: "lane", reason: "no_command" }],
  });
  expect({ version: version(), bytes: bytes(), events: await bench.store.lastEvent() }).toEqual(before);
  expect(await bench.store.leader("default")).toBeNull();
  expect(bench.world.workers).toEqual([]);
  other.close();
});

test("K16 a dry run says what must end, and ends nothing", async () => {
  await using bench = await openBench();
  const crashed = await bench.task();
  const expired = await bench.task();
  await bench.dispatcher.runOnce("default");
  await bench.clock.advance(TTL_MS);
  await bench.world.exit(crashed.id, { code: 1 });
  const before = await bench.store.lastEvent();
  const result = await bench.dispatcher.runOnce("default", { dryRun: true });
  expect(result).toMatchObject({ crashed: [crashed.id], reclaimed: [expired.id], spawned: [{ task: expired.id }] });
  expect(await bench.store.lastEvent()).toBe(before);
  expect(bench.world.living(expired.id)).toHaveLength(1);
});

const assignee = fc.constantFrom("coder", "writer", "lane", "ghost", null);
const cap = fc.option(fc.integer({ min: 1, max: 3 }));
/** How a task of the board got to where it is. */
const fate = fc.constantFrom(
  "waits",
  "waits",
  "runs",
  "crashed",
  "silent",
  "stopped",
  "limited",
  "expired",
  "gone",
  "review",
  "guarded",
  "due",
  "child",
  "failed twice",
  "late",
  "late and runs",
  "late and due",
);
const board = fc.record({
  tasks: fc.array(fc.record({ assignee, fate, priority: fc.integer({ min: 0, max: 2 }) }), { maxLength: 8 }),
  settings: fc.record({
    defaultAssignee: fc.constantFrom(null, "writer", "lane", "ghost"),
    maxPerProfile: cap,
    maxInProgress: cap,
    maxSpawn: cap,
    backoffMs: fc.constantFrom(0, 10_000),
    reviews: fc.boolean(),
    profiles: fc.constantFrom(null, ["coder"], ["coder", "writer", "lane"]),
  }),
  max: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
});
type Plan = typeof board extends fc.Arbitrary<infer T> ? T : never;

test("K16 what a dry run says is what the pass then does, whatever the board", async () => {
  await fc.assert(
    fc.asyncProperty(board, async ({ tasks, settings, max }) => {
      await using bench = await openBench();
      for (const task of tasks) await meet(bench, task);
      Object.assign(bench.settings, settings);
      const said = await bench.dispatcher.runOnce("default", { dryRun: true, max });
      const done = await bench.dispatcher.runOnce("default", { max, wait: true });
      expect(comparable(done)).toEqual(comparable(said));
    }),
    { numRuns: RUNS },
  );
}, 120_000);

/** Buckets of endings fill in the order in which they end, and only a real run has workspaces. */
function comparable(result: DispatchResult): object {
  const { spawned, ...rest } = result;
  const sorted = Object.entries(rest).map(([key, value]) => [
    key,
    Array.isArray(value) && typeof value[0] === "string" ? value.toSorted() : value,
  ]);
  return { ...Object.fromEntries(sorted), spawned: spawned.map(({ task, assignee: to }) => ({ task, to })) };
}

async function meet(bench: Bench, { assignee: to, fate: what, priority }: Plan["tasks"][number]): Promise<void> {
  const { store, clock, world } = bench;
  if (what === "due") {
    await bench.task({ assignee: to, priority, initial: "scheduled", scheduledFor: clock.now() + 1 });
    await clock.advance(1);
    return;
  }
  if (what === "late" || what === "late and due" || what === "late and runs") {
    const scheduled = what === "late and due" ? ({ initial: "scheduled", scheduledFor: clock.now() + 1 } as const) : {};
    const late = await bench.task({ assignee: to, priority, deadline: clock.now() + 1, ...scheduled });
    if (what === "late and runs") await store.claim(late.id, { by: "me", as: "person" });
    await clock.advance(1);
    return;
  }
  if (what === "child") {
    const parent = await bench.task({ assignee: null });
    await bench.task({ assignee: to, priority, parents: [parent.id] });
    return;
  }
  const { id } = await bench.task({ assignee: to, priority });
  if (what === "waits") return;
  if (what === "review") return void (await store.requestReview(id, {}, ME));
  if (what === "guarded") return void (await store.setGuard(id, { reason: "rate_limit", until: clock.now() + 1_000_000 }, ME));
  const claim = await store.claim(id, { by: "dispatcher/before", profile: to ?? "coder", ttlMs: what === "expired" ? 1 : TTL_MS });
  await world.launcher().launch(claim, {} as never);
  if (what === "crashed") await world.exit(id, { code: 1 });
  if (what === "silent") await world.exit(id, { code: 0 });
  if (what === "stopped") await world.exit(id, { code: null, signal: "SIGTERM", reason: "stopped" });
  if (what === "limited") await world.exit(id, { code: 75 });
  if (what === "gone") Object.assign(world.of(id), { alive: false, supervised: false });
  if (what === "expired") await clock.advance(1);
  if (what === "failed twice") {
    await store.release(claim.run.id, { by: "dispatcher/before", outcome: "crashed", failureLimit: 3 });
    world.of(id).alive = false;
    const again = await store.claim(id, { by: "dispatcher/before" });
    await world.launcher().launch(again, {} as never);
    await world.exit(id, { code: 1 });
  }
}
