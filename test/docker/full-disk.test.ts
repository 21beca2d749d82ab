import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ENGINE_LIMIT_MS, type PrivateEngine, privateEngine } from "../helpers/engine.ts";
import { failureOf } from "../helpers/failure-of.ts";
import { describeIf } from "../helpers/requirements.ts";
import { containerSpec, engineBench, LONG } from "./engine-bench.ts";

describeIf(["cc", "mmdebstrap", "dockerd", "mount"], "an engine whose disk is full", () => {
  let engine: PrivateEngine;
  beforeAll(async () => {
    engine = await privateEngine({ diskMib: 450 });
  }, ENGINE_LIMIT_MS);
  afterAll(() => engine[Symbol.asyncDispose](), ENGINE_LIMIT_MS);

  test(
    "S13 makes no sandbox and says why, leaves nothing behind, spoils no other sandbox, and works again when there is room",
    async () => {
      const bench = await engineBench(engine);
      const lifecycle = await bench.process();
      const greedy = await lifecycle.acquire(bench.owner("greedy"), containerSpec());
      const other = await lifecycle.acquire(bench.owner("other"), containerSpec());
      await other.sandbox.run("echo kept >/var/kept; cd /etc");
      const filling = await greedy.sandbox.run("cat /dev/zero >/var/fill; cat /dev/zero >>/var/rest; true");
      expect(filling.stderr).toContain("No space left on device");
      for (let round = 0; round < 2; round++) {
        expect(await failureOf(lifecycle.acquire(bench.owner("new"), containerSpec()))).toMatchObject({
          code: "sandbox-create-failed",
          message: expect.stringContaining("no space left on device"),
        });
        expect(existsSync(bench.placeOf("new"))).toBe(false);
      }
      expect(await bench.containers()).toHaveLength(2);
      expect(await other.sandbox.run("cat /var/kept; pwd; export A=b")).toMatchObject({ output: "kept\n/etc\n", warnings: [] });
      expect(await greedy.sandbox.run("rm /var/fill /var/rest; echo freed")).toMatchObject({ output: "freed\n" });
      const made = await lifecycle.acquire(bench.owner("new"), containerSpec());
      expect((await made.sandbox.run("echo here >/var/here && cat /var/here")).output).toBe("here\n");
      expect((await other.sandbox.run("echo $A")).output).toBe("b\n");
      expect(await bench.containers()).toHaveLength(3);
    },
    LONG,
  );
});
