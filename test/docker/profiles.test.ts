import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cliBench } from "./cli-bench.ts";
import { describeEngines, LONG } from "./engine-bench.ts";

describeEngines("profiles with containers", (engine) => {
  test(
    "K2 one with a container is not renamed, but deleted with it and its files, on whatever backend is configured",
    async () => {
      const { cli, run, json, containers } = await cliBench(engine());
      await run("profile", "create", "one");
      await run("exec", "-p", "one", "-t", "build", "--", "touch ~/kept");
      const refused = await run("profile", "rename", "one", "two");
      expect(refused).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(/sandbox for task build on the docker backend cannot follow\nhint: .*--remove-sandboxes/),
      });
      expect(await containers()).toHaveLength(1);

      const renamed = await json("profile", "rename", "one", "two", "--remove-sandboxes");
      expect(renamed).toMatchObject({ removed: ["build"], followed: [] });
      expect(await containers()).toEqual([]);

      await run("exec", "-p", "two", "-t", "build", "--", "touch ~/kept");
      expect(await run("profile", "delete", "two", "--confirm", "two", "-c", "terminal.backend=local")).toMatchObject({ status: 0 });
      expect(await containers()).toEqual([]);
      expect(await readdir(join(cli.home, "profiles"))).toEqual([]);
    },
    LONG,
  );

  test(
    "K2 what an engine has that does not answer is neither forgotten nor lost",
    async () => {
      const { cli, env, run, containers } = await cliBench(engine());
      await run("profile", "create", "one");
      await run("exec", "-p", "one", "-t", "build", "true");
      const away = { ...env, HOLDFAST_DOCKER_BINARY: "/nonexistent/engine" };
      for (const args of [
        ["rename", "one", "two"],
        ["delete", "one", "--confirm", "one"],
      ]) {
        const { status, stderr } = await cli.run(["profile", ...args], { env: away });
        expect({ status, stderr }).toEqual({
          status: 1,
          stderr: expect.stringMatching(/profile one has sandboxes on the docker backend, which does not answer/),
        });
      }
      expect(await containers()).toHaveLength(1);
      const forced = await cli.run(["profile", "delete", "one", "--confirm", "one", "--force"], { env: away });
      expect(forced).toMatchObject({ status: 0, stderr: expect.stringContaining("left behind: its sandboxes on the docker backend") });
    },
    LONG,
  );
});
