import { existsSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { BASE_IMAGE } from "../helpers/engine-image.ts";
import { failureOf } from "../helpers/failure-of.ts";
import { containerSpec, describeEngines, type EngineBench, engineBench } from "./engine-bench.ts";

describeEngines("what an engine refuses", (engine) => {
  test.each([
    ["an argument that it does not know", ["--no-such-flag"], /no-such-flag/],
    ["a value that it does not take", ["--security-opt", "no-such-option=1"], /no-such-option/],
    // Docker makes the container, and then cannot start it.
    ["a device that is not there", ["--device", "/dev/no-such-device"], /no-such-device/],
  ])("S13 %s is why nothing was made, and nothing is left behind", async (_, extraArgs, reason) => {
    const bench = await engineBench(engine());
    const driver = await bench.driver();
    expect(await failureOf(driver.create(bench.owner(), containerSpec({ extraArgs })))).toMatchObject({
      code: "sandbox-create-failed",
      message: expect.stringMatching(reason),
    });
    await expectNothing(bench);
  });

  test("S13 a creation that fails leaves the files of an earlier sandbox alone", async () => {
    const bench = await engineBench(engine());
    const lease = await (await bench.process()).acquire(bench.owner(), containerSpec());
    await lease.sandbox.run("echo kept >/workspace/kept");
    await lease.cleanup({ forceRemove: true });
    const driver = await bench.driver();
    await failureOf(driver.create(bench.owner(), containerSpec({ extraArgs: ["--no-such-flag"] })));
    expect(existsSync(`${bench.placeOf()}/workspace/kept`)).toBe(true);
  });

  test.each([
    ["has none of our labels", () => []],
    ["is another install's", (labels: Record<string, string>) => ({ ...labels, "holdfast-install": "another" })],
  ])("S13 S14 a name that a container has which %s is why nothing was made, and that one is untouched", async (_, relabel) => {
    const bench = await engineBench(engine());
    const driver = await bench.driver();
    const ours = await driver.create(bench.owner(), containerSpec());
    const { name = "" } = (await bench.containers())[0] ?? {};
    const labels = Object.entries(relabel((await bench.inspect(ours.id)).Config.Labels)).flatMap(([key, value]) => [
      "--label",
      `${key}=${value}`,
    ]);
    await driver.destroy(ours, { purge: true });
    const foreign = await bench.ask("create", "--name", name, ...labels, BASE_IMAGE, "true");
    onTestFinished(async () => void (await engine().run(["rm", "-f", foreign])));
    const before = await bench.ask("container", "inspect", foreign);
    expect(await failureOf(driver.create(bench.owner(), containerSpec()))).toMatchObject({
      code: "sandbox-create-failed",
      message: `a container that is not ours is called ${name}`,
    });
    await expectNothing(bench);
    expect(await bench.ask("container", "inspect", foreign)).toBe(before);
  });
});

async function expectNothing(bench: EngineBench): Promise<void> {
  expect(await bench.containers()).toEqual([]);
  expect(existsSync(bench.placeOf())).toBe(false);
}
