import { expect, test } from "vitest";
import { createManualClock } from "../../test/helpers/manual-clock.ts";
import type { Spawned } from "./spawn.ts";
import { createStarts } from "./starts.ts";

const spawned = (task: string): Spawned => ({ task, assignee: "coder", workspace: "/w" });

test("K23 a start that takes long holds up no pass, and a later one tells of it", async () => {
  const clock = createManualClock();
  let woken = 0;
  const starts = createStarts(clock, () => (woken += 1));
  const slow = Promise.withResolvers<Spawned[]>();
  const first = starts.wait("default", slow.promise, { fully: false });
  await clock.advance(1000);
  expect(await first).toEqual([]);
  expect(await starts.wait("default", Promise.resolve([spawned("t_2")]), { fully: false })).toEqual([spawned("t_2")]);
  slow.resolve([spawned("t_1")]);
  await clock.advance(0);
  expect(woken).toBe(1);
  expect(await starts.wait("other", Promise.resolve([]), { fully: false })).toEqual([]);
  expect(await starts.wait("default", Promise.resolve([spawned("t_3")]), { fully: false })).toEqual([spawned("t_1"), spawned("t_3")]);
  expect(clock.pending).toBe(0);
});

test("K13 a single pass waits for all that it starts", async () => {
  const clock = createManualClock();
  const starts = createStarts(clock, () => {});
  const slow = Promise.withResolvers<Spawned[]>();
  const pass = starts.wait("default", slow.promise, { fully: true });
  await clock.advance(60_000);
  slow.resolve([spawned("t_1")]);
  expect(await pass).toEqual([spawned("t_1")]);
});
