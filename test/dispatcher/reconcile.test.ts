import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { openBench } from "./bench.ts";
import { spawn } from "./kit.ts";

test("K13 K25 reconciled: tasks whose run and status do not fit together are put right, and their workers ended first", async () => {
  await using directory = await temporaryDirectory();
  const location = join(directory.path, "board.db");
  await using bench = await openBench({ location });
  const { dispatcher, store, settings, world, clock } = bench;
  const [bare, loose] = [await spawn(bench), await spawn(bench)];
  const database = new DatabaseSync(location);
  database.prepare("update runs set ended_at = 1, outcome = 'completed' where task = ?").run(bare.id);
  database.prepare("update tasks set status = 'todo' where id = ?").run(loose.id);
  database.close();
  expect(await store.check()).toHaveLength(3);

  await clock.advance(60_000);
  settings.reconcile = false;
  await dispatcher.runOnce("default", { max: 0 });
  expect(await store.check()).toHaveLength(3);

  settings.reconcile = true;
  expect((await dispatcher.runOnce("default", { dryRun: true })).reconciled.toSorted()).toEqual([bare.id, loose.id].toSorted());
  expect(await store.check()).toHaveLength(3);
  world.of(loose.id).immortal = true;
  expect((await dispatcher.runOnce("default", { max: 0 })).reconciled).toEqual([]);
  expect(await store.check()).toHaveLength(3);
  world.of(loose.id).immortal = false;
  await clock.advance(60_000);
  const result = await dispatcher.runOnce("default", { max: 0 });
  expect(result.reconciled.toSorted()).toEqual([bare.id, loose.id].toSorted());
  expect(await store.check()).toEqual([]);
  expect(world.living(loose.id)).toEqual([]);

  // The worker of the other one lives on under a run that has ended, so the next one waits for it.
  const next = await dispatcher.runOnce("default");
  expect(next.spawned.map(({ task }) => task)).toEqual([loose.id]);
  expect(next.respawn_guarded).toMatchObject([{ task: bare.id, reason: "previous_worker" }]);
  expect(world.doubles).toEqual([]);
});

test("K25 tasks that cannot be put right are told of each time that it begins, not at each pass, and once when it works again", async () => {
  await using directory = await temporaryDirectory();
  const location = join(directory.path, "board.db");
  await using bench = await openBench({ location });
  const { dispatcher, store, clock, records } = bench;
  const { id } = await spawn(bench);
  const tear = () => {
    using database = new DatabaseSync(location);
    database.prepare("update runs set ended_at = 1, outcome = 'completed' where task = ?").run(id);
    database.prepare("update tasks set status = 'running' where id = ?").run(id);
  };
  const { mendTasks } = store;
  const passWhile = async (trouble: string | null) => {
    store.mendTasks = trouble === null ? mendTasks : () => Promise.reject(new Error(trouble));
    await clock.advance(60_000);
    await dispatcher.runOnce("default", { max: 0 });
  };
  const told = () => records.filter(({ message }) => message.includes("put right")).map(({ level, message }) => `${level}: ${message}`);
  const failed = "error: tasks of board default could not be put right: the disk is full";
  const again = "info: tasks of board default can be put right again";

  tear();
  for (let count = 0; count < 2; count += 1) await passWhile("the disk is full");
  expect(told()).toEqual([failed]);
  for (let count = 0; count < 2; count += 1) await passWhile(null);
  expect(told()).toEqual([failed, again]);
  tear();
  await passWhile("the disk is full");
  expect(told()).toEqual([failed, again, failed]);
});
