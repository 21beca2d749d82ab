import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { HoldfastError } from "../../src/base/errors.ts";
import { createPatience } from "../../src/board/patience.ts";
import { openStore } from "../../src/board/store.ts";
import { createBell } from "../helpers/bell.ts";
import { createManualClock } from "../helpers/manual-clock.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";

test("K17 K29 the last word of a run outlasts another process that keeps the file of SQLite", async () => {
  await using place = await temporaryDirectory();
  const location = join(place.path, "board.db");
  await using board = await openStore(location);
  const { task } = await board.createTask({ title: "work", assignee: "coder" }, { by: "me" });
  const { token } = await board.claim(task.id, { by: "d" });
  const waits = createBell();
  using other = new DatabaseSync(location);
  other.exec("begin immediate");
  await expect(openStore(location, { busyLimitMs: 10 })).rejects.toMatchObject({ code: "locked" });
  const said = (async () => {
    await using store = await openStore(location, { busyLimitMs: 10, patience: { limitMs: 60_000, onWait: waits.ring } });
    return await store.complete(task.id, { summary: "done" }, { token });
  })();
  await waits.until(() => waits.rings > 0);
  other.exec("rollback");
  expect(await said).toMatchObject({ status: "done" });
  expect((await board.events({ task: task.id })).map(({ kind }) => kind)).toEqual(["created", "claimed", "completed"]);
});

test("K29 patience ends after its time, for all that waits together, and begins anew when the database was there", async () => {
  const clock = createManualClock();
  const waits = createBell();
  const patiently = createPatience({ clock, limitMs: 60_000, onWait: waits.ring });
  let away = true;
  const ask = () =>
    patiently(() => {
      if (away) throw new HoldfastError("locked", "others keep it");
      return "there";
    });
  const begun = clock.monotonic();
  let ended: number | undefined;
  const first = ask().catch((error: unknown) => {
    ended = clock.monotonic();
    return error;
  });
  await clock.advance(100_000);
  expect(await first).toMatchObject({ code: "locked" });
  expect((ended ?? 0) - begun).toBeGreaterThan(55_000);
  expect((ended ?? 0) - begun).toBeLessThanOrEqual(60_000);
  // It has been away for so long already.
  await expect(ask()).rejects.toMatchObject({ code: "locked" });
  expect(waits.rings).toBe(1);
  away = false;
  expect(await ask()).toBe("there");
  away = true;
  const again = ask();
  await clock.advance(30_000);
  away = false;
  await clock.advance(2000);
  expect(await again).toBe("there");
  expect(waits.rings).toBe(2);
  expect(clock.pending).toBe(0);
});

test("K29 what will not pass is not waited for, and what may have been done is repeated only if it knows itself again", async () => {
  const clock = createManualClock();
  const patiently = createPatience({ clock, limitMs: 60_000, onWait: () => {} });
  const failures = [
    new HoldfastError("board-damaged", "x"),
    new HoldfastError("board-unavailable", "x", { facts: { passing: false } }),
    new HoldfastError("claim-lost", "x"),
    new HoldfastError("board-unavailable", "x", { facts: { passing: true, undecided: true } }),
    new TypeError("x"),
  ];
  for (const failure of failures) await expect(patiently(() => Promise.reject(failure))).rejects.toBe(failure);
  let times = 0;
  const repeated = patiently(
    async () => {
      times += 1;
      if (times === 1) throw failures[3];
      return times;
    },
    { repeatable: true },
  );
  await clock.untilPending(1);
  await clock.advance(2000);
  expect(await repeated).toBe(2);
});
