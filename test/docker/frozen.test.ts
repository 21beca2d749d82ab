import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestCli } from "../helpers/cli.ts";
import { ENGINE_LIMIT_MS, type PrivateEngine, privateEngine } from "../helpers/engine.ts";
import { engineVariables } from "../helpers/engine-harness.ts";
import { failureOf } from "../helpers/failure-of.ts";
import { describeIf } from "../helpers/requirements.ts";
import { containerSpec, engineBench, LONG } from "./engine-bench.ts";

const NO_ANSWER = /Docker daemon is not responding: `\/\S*docker version` gave no answer within 5 s/;

describeIf(["cc", "mmdebstrap", "dockerd", "mount"], "an engine that hangs", () => {
  let engine: PrivateEngine;
  beforeAll(async () => {
    engine = await privateEngine();
  }, ENGINE_LIMIT_MS);
  afterAll(() => engine[Symbol.asyncDispose](), ENGINE_LIMIT_MS);

  const frozen = async <T>(action: () => Promise<T>): Promise<T> => {
    await engine.freeze();
    try {
      return await action();
    } finally {
      engine.thaw();
    }
  };

  test(
    "S2 is named by every command that needs it, and all works again when it goes on",
    async () => {
      await using cli = await createTestCli();
      const env = engineVariables(engine);
      const [exec, doctor, ...others] = await frozen(() =>
        Promise.all([
          cli.runProcess(["exec", "--json", "--", "true"], { env }),
          cli.runProcess(["doctor"], { env }),
          ...["ls", "inspect", "rm"].map((verb) => cli.run(["sandbox", verb, ...(verb === "ls" ? [] : ["default"])], { env })),
        ]),
      );
      for (const { status, stderr } of [exec, ...others]) {
        expect(status).not.toBe(0);
        expect(stderr).toMatch(NO_ANSWER);
      }
      expect(doctor.stdout).toMatch(NO_ANSWER);
      expect(await cli.json(["sandbox", "ls"], { env })).toEqual([]);
      expect((await cli.run(["exec", "--", "echo here"], { env })).stdout).toBe("here\n");
      expect(await cli.json(["sandbox", "ls"], { env })).toHaveLength(1);
      expect((await cli.run(["sandbox", "rm", "default"], { env })).status).toBe(0);
    },
    LONG,
  );

  test(
    "S2 is named by every operation of the driver",
    async () => {
      const bench = await engineBench(engine);
      const ref = await (await bench.driver()).create(bench.owner(), containerSpec());
      const driver = await bench.driver();
      const told = { code: "engine-not-responding", message: expect.stringMatching(NO_ANSWER) };
      const failures = await frozen(() =>
        Promise.all([
          failureOf(driver.list({ install: bench.owner().install })),
          failureOf(driver.create(bench.owner("other"), containerSpec())),
          failureOf(driver.connect(ref)),
          failureOf(driver.destroy(ref)),
          failureOf(driver.prepare?.(bench.owner(), containerSpec()) ?? Promise.resolve()),
        ]),
      );
      expect(failures).toMatchObject([told, told, told, told, told]);
      expect(await driver.list({ install: bench.owner().install })).toMatchObject([{ id: ref.id, state: "running" }]);
      await driver.destroy(ref);
      expect(await bench.containers()).toEqual([]);
    },
    LONG,
  );
});
