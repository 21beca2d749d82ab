import { expect, test } from "vitest";
import { createManualClock } from "../../test/helpers/manual-clock.ts";
import { delay, systemClock } from "./clock.ts";

test("the system's clock tells the time, and a growing one for durations", async () => {
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(5000);
  const before = systemClock.monotonic();
  await delay(systemClock, 2);
  expect(systemClock.monotonic()).toBeGreaterThan(before);
});

test("timers run once, in the order of their time, unless they are cancelled", async () => {
  const ran: string[] = [];
  const done = Promise.withResolvers<void>();
  systemClock.after(30, () => done.resolve());
  systemClock.after(15, () => ran.push("second"));
  systemClock.after(1, () => ran.push("first"));
  systemClock.after(1, () => ran.push("cancelled")).cancel();
  await done.promise;
  expect(ran).toEqual(["first", "second"]);
});

test("a time that setTimeout cannot hold is not turned into none", async () => {
  let fired = false;
  const timers = [2 ** 31, 1e15, Number.POSITIVE_INFINITY].map((ms) =>
    systemClock.after(ms, () => {
      fired = true;
    }),
  );
  await delay(systemClock, 20);
  for (const timer of timers) timer.cancel();
  expect(fired).toBe(false);
});

test("a time in the past is now", async () => {
  await delay(systemClock, -1000);
});

test("a manual clock moves only by hand, and runs what falls due on the way", async () => {
  const clock = createManualClock(1000);
  const ran: [string, number][] = [];
  clock.after(20, () => ran.push(["later", clock.monotonic()]));
  clock.after(10, () => {
    ran.push(["first", clock.monotonic()]);
    clock.after(5, () => ran.push(["nested", clock.monotonic()]));
  });
  clock.after(5, () => ran.push(["cancelled", 0])).cancel();
  await clock.advance(9);
  expect(ran).toEqual([]);
  await clock.advance(100);
  expect(ran).toEqual([
    ["first", 10],
    ["nested", 15],
    ["later", 20],
  ]);
  expect([clock.now(), clock.monotonic(), clock.pending]).toEqual([1109, 109, 0]);
});
