import { existsSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { profileCreate } from "../../src/app/operations/profile-create.ts";
import { sandboxUp } from "../../src/app/operations/sandbox-up.ts";
import { systemClock } from "../../src/base/clock.ts";
import { createLabels } from "../../src/sandbox/drivers/docker/labels.ts";
import { BASE_IMAGE, USER_IMAGE } from "../helpers/engine-image.ts";
import { cliBench } from "./cli-bench.ts";
import { containerSpec, describeEngines, type EngineBench, engineBench, LONG } from "./engine-bench.ts";

const LIFETIME_SECONDS = 300;
const settings = { lifetime_seconds: LIFETIME_SECONDS };
const later = (seconds: number) => () => systemClock.now() + seconds * 1000;
const LONG_AGO = later(2 * LIFETIME_SECONDS + 1);

/** The tasks that the engine still has containers of. */
async function tasks(bench: EngineBench): Promise<string[]> {
  return (await (await bench.driver()).list({ install: bench.owner().install })).map(({ owner }) => owner.task).sort();
}

describeEngines("orphaned containers", (engine) => {
  test(
    "S28 what exited long ago goes, once; what runs, is of another profile, or never ran does not",
    async () => {
      const bench = await engineBench(engine());
      const maker = await bench.driver();
      const [old, , other] = [
        await maker.create(bench.owner("old"), containerSpec()),
        await maker.create(bench.owner("running"), containerSpec()),
        await maker.create(bench.owner("other", "another"), containerSpec()),
      ];
      const { Config: config } = await bench.inspect(old.id);
      const labels = Object.entries({ ...config.Labels, "holdfast-owner": '{"profile":"default","task":"created"}' });
      // One that never ran has no time at which it finished.
      const name = createLabels("holdfast").containerName(bench.owner("created"));
      await bench.ask("create", "--name", name, ...labels.flatMap(([label, value]) => ["--label", `${label}=${value}`]), config.Image);
      await bench.ask("stop", "-t", "0", old.id, other.id);

      const soon = await bench.driver({ settings, now: later(2 * LIFETIME_SECONDS - 60) });
      await soon.create(bench.owner("new"), containerSpec());
      expect(await tasks(bench)).toEqual(["created", "new", "old", "other", "running"]);

      const reaping = await bench.driver({ settings, now: LONG_AGO });
      await reaping.create(bench.owner("new"), containerSpec());
      expect(await tasks(bench)).toEqual(["created", "new", "other", "running"]);
      expect(existsSync(bench.placeOf("old"))).toBe(false);

      const again = await maker.create(bench.owner("old"), containerSpec());
      await bench.ask("stop", "-t", "0", again.id);
      await reaping.create(bench.owner("new"), containerSpec());
      expect(await tasks(bench)).toContain("old");
    },
    LONG,
  );

  test(
    "S28 one process looks for them once, however many tasks, images and profiles it has",
    async () => {
      const { exec, later, containers, run } = await cliBench(engine());
      const stopped = async (task: string) => {
        await exec("-t", task, "--", "true");
        expect(await run("sandbox", "stop", task)).toMatchObject({ status: 0 });
      };
      const there = async () => (await containers()).filter(({ state }) => state === "exited").length;
      const app = await later(2 * LIFETIME_SECONDS + 1);
      await stopped("first");
      await sandboxUp.run(app, { task: "one", image: undefined, backend: undefined });
      expect(await there()).toBe(0);
      await stopped("second");
      // Each of these has a driver of its own.
      await sandboxUp.run(app, { task: "two", image: USER_IMAGE, backend: undefined });
      await sandboxUp.run(app, { task: "three", image: BASE_IMAGE, backend: "docker" });
      await profileCreate.run(app, { name: "other" });
      const other = await app.forProfile("other");
      onTestFinished(async () => void (await other.close()));
      await sandboxUp.run(other, { task: "four", image: undefined, backend: undefined });
      expect(await there()).toBe(1);
      // Another process does.
      await sandboxUp.run(await later(2 * LIFETIME_SECONDS + 1), { task: "five", image: undefined, backend: undefined });
      expect(await there()).toBe(0);
    },
    LONG,
  );

  test(
    "S28 turned off, nothing goes; an own container that exited long ago is not found any more, but made anew",
    async () => {
      const bench = await engineBench(engine());
      const old = await (await bench.driver()).create(bench.owner(), containerSpec());
      await bench.ask("stop", "-t", "0", old.id);
      const off = await bench.driver({ settings: { ...settings, docker_orphan_reaper: false }, now: LONG_AGO });
      expect((await off.create(bench.owner(), containerSpec())).id).toBe(old.id);
      const on = await bench.driver({ settings, now: LONG_AGO });
      expect((await on.create(bench.owner(), containerSpec())).id).not.toBe(old.id);
    },
    LONG,
  );
});
