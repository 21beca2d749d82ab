/** @module Cases: ending a program and all that came from it. */
import { expect } from "vitest";
import type { Connection } from "../../../src/sandbox/driver.ts";
import { alive, start } from "../../helpers/collect.ts";
import type { Cases } from "./kit.ts";

/** Starts a script, waits until it has printed `count` lines with process ids, ends it, and says which of them are left. */
async function survivors(connection: Connection, script: string, count: number): Promise<string[]> {
  const running = await start(connection, script);
  const said = await running.untilPrinted(new RegExp(`(\\d+\\n){${count}}`));
  const pids = [...(said.match(/\d+/g) ?? []), String(running.process.pid)];
  expect(await alive(connection, pids)).toEqual(pids);
  await running.process.kill({ graceMs: 200 });
  const left = await alive(connection, pids);
  await running.process.ended;
  return left;
}

export const killCases: Cases = {
  "S33 kill ends a program and its children": async ({ shared }) => {
    expect(await survivors(await shared(), "sleep 1000 & echo $!; (sleep 1000 & echo $!; wait) & echo $!; wait", 3)).toEqual([]);
  },

  "S33 kill asks first: a program may clean up": async ({ shared }) => {
    const running = await start(await shared(), "trap 'echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.01; done");
    await running.untilPrinted("ready");
    await running.process.kill({ graceMs: 10_000 });
    expect(await running.process.ended).toEqual({ exitCode: 3, signal: null });
    expect(await running.untilPrinted("cleaned")).toMatch(/^ready\n(.*\n)?cleaned\n/);
  },

  "S33 kill ends what does not listen": async ({ shared }) => {
    const script = "trap '' TERM INT HUP; sleep 1000 & echo $!; echo ready; while :; do sleep 1000; done";
    const running = await start(await shared(), script);
    const said = await running.untilPrinted("ready");
    await running.process.kill({ graceMs: 50 });
    expect(await alive(await shared(), [...(said.match(/\d+/g) ?? []), running.process.pid])).toEqual([]);
    expect(await running.process.ended).toEqual({ exitCode: 137, signal: "SIGKILL" });
  },

  "S33 kill ends what moved to a session of its own": async ({ shared }) => {
    expect(await survivors(await shared(), "setsid bash -c 'echo $$; exec sleep 1000'; sleep 1000", 1)).toEqual([]);
  },

  "S33 kill ends what was orphaned: double fork, setsid, nohup": async ({ shared }) => {
    const orphan = `(setsid nohup bash -c "trap '' HUP; echo \\$\\$; sleep 1000 & echo \\$!; wait" 2>/dev/null &)`;
    expect(await survivors(await shared(), `${orphan}; sleep 1000`, 2)).toEqual([]);
  },

  "S33 kill ends what was stopped": async ({ shared }) => {
    expect(await survivors(await shared(), "sleep 1000 & kill -STOP $!; echo $!; kill -STOP $$; sleep 1000", 1)).toEqual([]);
  },

  "S33 kill ends what emptied its environment": async ({ shared }) => {
    const script = "env -i sleep 1000 & echo $!; env -i bash -c 'echo $$; setsid sleep 1000 & echo $!; wait'; sleep 1000";
    expect(await survivors(await shared(), script, 3)).toEqual([]);
  },

  "S33 kill ends a program that emptied its own environment, and what came from it": async ({ shared }) => {
    const script = "exec env -i bash -c 'setsid sleep 1000 & echo $!; (setsid sleep 1000 & echo $!; wait) & wait'";
    expect(await survivors(await shared(), script, 2)).toEqual([]);
  },

  "S33 kill ends what is forked while it works": async ({ shared }) => {
    const script = "trap 'sleep 1000 & echo $!; exit' TERM; echo ready; while :; do sleep 0.01; done";
    const running = await start(await shared(), script);
    await running.untilPrinted("ready");
    await running.process.kill({ graceMs: 1000 });
    await running.process.ended;
    const forked = (await running.untilPrinted("ready")).match(/\d+/g) ?? [];
    expect(forked).toHaveLength(1);
    expect(await alive(await shared(), forked)).toEqual([]);
  },

  "S33 kill ends what does not listen, emptied its environment and lost its parent on the way": async ({ shared }) => {
    const deaf = `env -i setsid bash -c 'trap "" TERM; echo $$; sleep 1000 & echo $!; wait; sleep 1000'`;
    expect(await survivors(await shared(), `${deaf} & wait`, 2)).toEqual([]);
  },

  "S33 kill touches nothing of another program": async ({ shared }) => {
    const connection = await shared();
    const other = await start(connection, "sleep 1000 & echo $!; echo ready; wait");
    const bystander = (await other.untilPrinted("ready")).match(/\d+/g) ?? [];
    await survivors(connection, "sleep 1000 & echo $!; wait", 1);
    expect(await alive(connection, [...bystander, other.process.pid])).toHaveLength(2);
    await other.process.kill({ graceMs: 0 });
  },

  "S33 kill after the end is harmless, and twice at once as well": async ({ shared }) => {
    const connection = await shared();
    const ended = await start(connection, "exit 6");
    await ended.process.ended;
    await ended.process.kill({ graceMs: 1000 });
    expect(await ended.process.ended).toEqual({ exitCode: 6, signal: null });

    const running = await start(connection, "echo ready; sleep 1000");
    await running.untilPrinted("ready");
    await Promise.all([running.process.kill({ graceMs: 1000 }), running.process.kill({ graceMs: 0 })]);
    expect((await running.process.ended).signal).toMatch(/^SIG(TERM|KILL)$/);
  },

  "S33 after a kill, a taker that never comes back does not hold the end": async ({ shared }) => {
    const arrived = Promise.withResolvers<void>();
    const process = await (await shared()).spawn(["bash", "-c", "echo ready; exec sleep 1000"], {
      stdin: "none",
      onOutput() {
        arrived.resolve();
        return new Promise(() => {});
      },
    });
    await arrived.promise;
    await process.kill({ graceMs: 1000 });
    expect(await process.ended).toEqual({ exitCode: 143, signal: "SIGTERM" });
  },

  "S33 after a kill, a taker that is only slow still gets all": async ({ shared }) => {
    const arrived = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    let said = "";
    const process = await (await shared()).spawn(
      ["bash", "-c", "trap 'echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.01; done"],
      {
        stdin: "none",
        merge: true,
        onOutput(chunk) {
          said += Buffer.from(chunk).toString();
          arrived.resolve();
          return released.promise;
        },
      },
    );
    await arrived.promise;
    await process.kill({ graceMs: 10_000 });
    released.resolve();
    expect((await process.ended).exitCode).toBe(3);
    expect(said).toMatch(/^ready\n(.*\n)?cleaned\n/);
  },
};
