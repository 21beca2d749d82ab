import { existsSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { createTestCli } from "../helpers/cli.ts";
import { BASE_IMAGE } from "../helpers/engine-image.ts";
import { soakCount } from "../helpers/soak.ts";
import { type Client, startClient } from "./client-process.ts";
import { containerSpec, describeEngines, type EngineBench, engineBench, LONG } from "./engine-bench.ts";

const ROUNDS = soakCount("rounds of 8 processes that come at once", { check: 4, soak: 20 });
const NAMES = Array.from({ length: 8 }, (_, index) => String(index));

/** All at the same moment, each with a name of its own as `$me`; what each of them got. */
async function callTogether(bench: EngineBench, clients: readonly Client[], { task, command }: { task: string; command: string }) {
  const order = { do: "call", owner: bench.owner(task), spec: containerSpec() } as const;
  for (const [me, client] of clients.entries()) client.order({ ...order, command: `me=${me}; ${command}` });
  return await Promise.all(clients.map((client) => client.next()));
}

/** They are in one container, where each sees what the others did, and there is no other. */
async function expectOneSandbox(bench: EngineBench, clients: readonly Client[], task: string): Promise<void> {
  const came = await callTogether(bench, clients, { task, command: "mkdir -p /tmp/here; >/tmp/here/$me; hostname" });
  const id = came[0]?.id ?? "";
  expect(came).toEqual(NAMES.map(() => ({ step: "called", id, output: `${id.slice(0, 12)}\n` })));
  const saw = await callTogether(bench, clients, { task, command: "echo $(ls /tmp/here)" });
  expect(saw).toEqual(NAMES.map(() => ({ step: "called", id, output: `${NAMES.join(" ")}\n` })));
}

describeEngines("simultaneous use", (engine) => {
  test(
    "S15 processes that come at the same moment end up in the same single container",
    async () => {
      const bench = await engineBench(engine());
      const clients = await Promise.all(NAMES.map(() => startClient(bench)));
      for (let round = 0; round < ROUNDS; round++) await expectOneSandbox(bench, clients, `round-${round}`);
      const found = await (await bench.driver()).list({ install: bench.owner().install });
      expect(new Set(found.map(({ owner }) => owner.task)).size).toBe(ROUNDS);
      expect(await bench.containers()).toHaveLength(ROUNDS);
      await Promise.all(clients.map((client) => client.end()));
    },
    3 * LONG,
  );

  test(
    "S15 programs that are started at the same moment, where nothing was ever used before, meet in one container",
    async () => {
      const { binary, env: forEngine } = engine();
      const cli = await createTestCli();
      const variables = { HOLDFAST_DOCKER_BINARY: binary, TERMINAL_BACKEND: "docker", TERMINAL_DOCKER_IMAGE: BASE_IMAGE };
      const env = { ...forEngine, ...variables, TERMINAL_CONTAINER_DISK: "0" };
      onTestFinished(async () => {
        await cli.run(["sandbox", "rm", "--force", "--", "default"], { env });
        await cli[Symbol.asyncDispose]();
      }, LONG);
      const results = await Promise.all(NAMES.map((name) => cli.runProcess(["exec", "-s", name, "--", "hostname"], { env })));
      const sandboxes = await cli.json<{ id: string }[]>(["sandbox", "ls"], { env });
      const hostnames = sandboxes.map(({ id }) => `${id.slice(0, 12)}\n`);
      expect(hostnames).toHaveLength(1);
      expect(results).toMatchObject(NAMES.map(() => ({ status: 0, stderr: "", stdout: hostnames[0] })));
    },
    LONG,
  );

  test("S16 who persists does not come to the container of a process that does not", async () => {
    const bench = await engineBench(engine());
    const fleeting = await (await bench.process()).acquire(bench.owner(), containerSpec({ persist: false, keepFiles: false }));
    const kept = await (await bench.process()).acquire(bench.owner(), containerSpec());
    await fleeting.cleanup();
    expect(await bench.containers()).toMatchObject([{ id: kept.sandbox.ref.id, state: "running" }]);
    const again = await (await bench.process()).acquire(bench.owner(), containerSpec());
    expect(again).toMatchObject({ origin: "found", sandbox: { ref: { id: kept.sandbox.ref.id } } });
  });

  test(
    "many sandboxes at once are all made, answer as themselves, and are gone without a trace when they are removed",
    async () => {
      const bench = await engineBench(engine());
      const tasks = Array.from({ length: engine().binary === "docker" ? 50 : 10 }, (_, index) => `task-${index}`);
      const lifecycle = await bench.process();
      const leases = await Promise.all(tasks.map((task) => lifecycle.acquire(bench.owner(task), containerSpec())));
      const hostnames = await Promise.all(leases.map(async ({ sandbox }) => (await sandbox.run("hostname")).output.trim()));
      expect(hostnames).toEqual(leases.map(({ sandbox }) => sandbox.ref.id.slice(0, 12)));
      expect(new Set(hostnames).size).toBe(tasks.length);
      expect(await bench.containers()).toHaveLength(tasks.length);
      const driver = await bench.driver();
      await Promise.all(leases.map(({ sandbox }) => driver.destroy(sandbox.ref, { purge: true })));
      expect(await bench.containers()).toEqual([]);
      expect(tasks.filter((task) => existsSync(bench.placeOf(task)))).toEqual([]);
    },
    2 * LONG,
  );
});
