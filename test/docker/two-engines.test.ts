import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type App, createApp } from "../../src/app/create-app.ts";
import { sandboxPrune } from "../../src/app/operations/sandbox-prune.ts";
import { sandboxRemove } from "../../src/app/operations/sandbox-remove.ts";
import { systemClock } from "../../src/base/clock.ts";
import { testEngine } from "../helpers/engine.ts";
import { engineVariables } from "../helpers/engine-harness.ts";
import { testPodman } from "../helpers/podman.ts";
import { describeIf } from "../helpers/requirements.ts";
import { cliBench } from "./cli-bench.ts";
import { LONG } from "./engine-bench.ts";

const MONTH_MS = 30 * 86_400_000;

/** What was just made is old by then. */
async function laterOn(environment: Readonly<Record<string, string | undefined>>, cwd: string): Promise<App & AsyncDisposable> {
  const clock = { ...systemClock, now: () => systemClock.now() + MONTH_MS };
  const app = await createApp({ environment, cwd, clock, program: "the test" });
  return {
    ...app,
    async [Symbol.asyncDispose]() {
      await app.close();
    },
  };
}

describeIf(["cc", "mmdebstrap", "dockerd", "podman"], "two engines in one home", () => {
  test.each([
    ["docker", testEngine, testPodman],
    ["podman", testPodman, testEngine],
  ])(
    "S3 S30 what %s has is neither entered, pruned nor removed while the other is used, and found again with what runs in it",
    async (_, first, second) => {
      const bench = await cliBench(await first());
      const { cli, run, json, exec, containers, placeOf, env } = bench;
      const other = await second();
      const others = { ...Object.fromEntries(Object.keys(env).map((name) => [name, undefined])), ...engineVariables(other) };
      const onOther = (...args: string[]) => cli.run(args, { env: others });
      const idsOnOther = async () => {
        const install = (await readFile(join(cli.home, "install-id"), "utf8")).trim();
        return (await other.containers(`holdfast-install=${install}`)).map(({ id }) => id);
      };
      onTestFinished(async () => void (await other.run(["rm", "-f", "-v", ...(await idsOnOther())])), LONG);

      await exec("-t", "build", "--", "echo first >/opt/note; echo kept >/workspace/note");
      await run("process", "start", "-t", "build", "--name", "watch", "--", "sleep 600");
      await exec("-t", "quiet", "--", "echo kept >/workspace/note");
      await run("sandbox", "stop", "quiet");
      const before = await containers();
      const notes = await Promise.all(["build", "quiet"].map(async (task) => join(await placeOf(task), "workspace/note")));
      const expectWhole = async () => {
        expect(await containers()).toEqual(before);
        for (const note of notes) expect(await readFile(note, "utf8")).toBe("kept\n");
      };

      // Nothing there is its own, however long ago it was made.
      await using app = await laterOn({ ...cli.env, ...others }, cli.directory);
      expect(await sandboxPrune.run(app, { all: false, dryRun: false, files: true })).toEqual({ dryRun: false, pruned: [] });
      expect((await onOther("sandbox", "ls", "--json")).stdout.trim()).toBe("[]");
      for (const task of ["build", "quiet"]) {
        expect(await onOther("sandbox", "rm", task, "--force")).toMatchObject({ status: 1, stderr: expect.stringContaining("no sandbox") });
      }
      await expectWhole();

      // One of its own for the same task is another container, and its removal leaves the first one's.
      expect(await onOther("exec", "-t", "build", "--", "ls /opt")).toMatchObject({ status: 0, stdout: "" });
      expect(await idsOnOther()).toHaveLength(1);
      await sandboxRemove.run(app, { task: "build", force: true, files: true });
      expect(await idsOnOther()).toEqual([]);
      await expectWhole();

      expect(await exec("-t", "build", "--", "cat /opt/note /workspace/note")).toBe("first\nkept");
      expect(await json("process", "ls", "-t", "build")).toMatchObject([{ name: "watch", state: "running" }]);
      expect(existsSync(await placeOf("build"))).toBe(true);
    },
    LONG,
  );
});
