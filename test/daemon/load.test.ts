import { expect, test } from "vitest";
import { FROM_CLIENT } from "../../src/sandbox/daemon/types.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { describeIf } from "../helpers/requirements.ts";
import { soakCount } from "../helpers/soak.ts";
import { forEachTest } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { type Client, createClient } from "./client.ts";
import { FLAG } from "./frames.ts";
import { childrenOf, descriptorsOf, eventually, memoryOf, zombiesOf } from "./machine.ts";

const IN_ALL = soakCount("calls in one daemon", { check: 4000, soak: 100_000 });
const ONE_BY_ONE = Math.min(IN_ALL / 2, 10_000);
const AT_ONCE = 32;
const LIMIT_MS = 1_200_000;
const GROWTH_KIB = 1024;

describeIf("cc", "holdfastd under load", () => {
  const scratch = forEachTest(temporaryDirectory);

  test(
    "S38 a thousand calls run at once, over a few connections",
    async () => {
      await using daemon = await startDaemon(scratch.path, { build: "release" });
      const clients: Client[] = [];
      for (let i = 0; i < 4; i++) clients.push(await createClient(daemon));
      const descriptors = descriptorsOf(daemon.pid);
      const calls = await Promise.all(
        clients.flatMap((client) =>
          Array.from({ length: 250 }, () => client.start(["sh", "-c", 'read -r x; echo "$x"'], { flags: FLAG.input })),
        ),
      );
      expect((await clients[0]?.status())?.calls).toBe(1000);
      for (const [number, call] of calls.entries()) call.send(FROM_CLIENT.input, Buffer.from(`${number}\n`));
      const outputs = await Promise.all(calls.map(async (call) => (await call.finish()).stdout.toString()));
      expect(outputs).toEqual(calls.map((_, number) => `${number}\n`));
      await eventually(() => childrenOf(daemon.pid).length === 0, "all keepers have ended");
      await eventually(() => descriptorsOf(daemon.pid) <= descriptors, "all descriptors are closed");
      for (const client of clients) await client[Symbol.asyncDispose]();
    },
    LIMIT_MS,
  );

  test(
    `${IN_ALL} calls in one daemon leave no descriptor, no zombie and no memory behind`,
    async () => {
      await using daemon = await startDaemon(scratch.path, { build: "release" });
      await using client = await createClient(daemon);
      const call = async () => {
        const { code } = await client.call(["true"]);
        if (code !== 0) throw new Error(`a call ended with ${code}`);
      };
      await call();
      await eventually(() => childrenOf(daemon.pid).length === 0, "the first keeper has ended");
      await client.status();
      const before = { descriptors: descriptorsOf(daemon.pid), memory: memoryOf(daemon.pid) };
      let left = IN_ALL - ONE_BY_ONE;
      const worker = async () => {
        while (left-- > 0) await call();
      };
      for (let i = 0; i < ONE_BY_ONE; i++) await call();
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      await eventually(() => childrenOf(daemon.pid).length === 0, "all keepers have ended");
      const after = { descriptors: descriptorsOf(daemon.pid), memory: memoryOf(daemon.pid) };
      expect(zombiesOf(daemon.pid)).toEqual([]);
      expect(after.memory - before.memory).toBeLessThan(GROWTH_KIB);
    },
    LIMIT_MS,
  );
});
