/** @module Cases: what stays when connections close, and what goes when a sandbox is destroyed. */
import { expect } from "vitest";
import { alive, collect, printed, start } from "../../helpers/collect.ts";
import { sandboxSpec } from "../../helpers/sandbox-spec.ts";
import type { Cases } from "./kit.ts";

/** Prints the process id of a `sleep` that outlives its shell, as soon as it is one. */
const BACKGROUND = "sleep 1000 </dev/null >/dev/null 2>&1 & until read -r name </proc/$!/comm && [[ $name == sleep ]]; do :; done; echo $!";

export const lifeCases: Cases = {
  "destroy twice is harmless": async ({ driver, owner, create }) => {
    const ref = await create();
    await driver.destroy(ref);
    await driver.destroy(ref);
    expect(await driver.list({ install: owner().install })).toEqual([]);
  },

  "destroying at the same time from several places is harmless": async ({ driver, another, owner, create }) => {
    const ref = await create();
    await Promise.all([driver, another(), driver, another()].map((each) => each.destroy(ref)));
    expect(await driver.list({ install: owner().install })).toEqual([]);
  },

  "destroying what never existed is harmless and touches nothing": async ({ driver, owner, create }) => {
    const ref = await create();
    await driver.destroy({ ...ref, id: `${ref.id}0` });
    await driver.destroy({ ...ref, id: "never-there", owner: owner({ task: "never-there" }) });
    expect(await driver.list({ install: owner().install })).toEqual([ref]);
  },

  "a destroyed sandbox is not listed and cannot be connected to": async ({ driver, owner, create }) => {
    const ref = await create();
    const other = await create(owner({ task: "other" }));
    await driver.destroy(ref);
    expect(await driver.list({ install: owner().install })).toEqual([other]);
    await expect(driver.connect(ref)).rejects.toMatchObject({ code: "sandbox-not-found" });
  },

  "a sandbox that is made again has another id and nothing of the old one": async ({ driver, owner, create, connect, shell }) => {
    const first = await create();
    const before = await shell({ on: { ref: first, connection: await connect(first) } });
    await before.text(`export OLD=1; echo old >"$1"`.replace("$1", `${before.connection.stateDir}/old`));
    await driver.destroy(first);

    const second = await create();
    expect(second.id).not.toBe(first.id);
    const after = await shell({ on: { ref: second, connection: await connect(second) } });
    expect(await after.sandbox.sessions.list()).toEqual([]);
    expect(await printed(after.connection, 'cd "$1" && ls -A', after.connection.stateDir)).toBe("");
    await expect(driver.connect(first)).rejects.toMatchObject({ code: "sandbox-not-found" });
    await driver.destroy(first);
    expect(await driver.list({ install: owner().install })).toEqual([second]);
  },

  "destroy ends what runs in the sandbox, and nothing else": async ({ driver, owner, create, connect, shared }) => {
    const [ref, other] = [await create(), await create(owner({ task: "other" }))];
    const [connection, neighbour] = [await connect(ref), await connect(other)];
    const running = await start(connection, `${BACKGROUND}; setsid sh -c 'echo $$; exec sleep 1000' & echo ready; wait`);
    const pids = (await running.untilPrinted("ready")).match(/\d+/g) ?? [];
    const foreign = await printed(neighbour, BACKGROUND);
    const outside = await printed(await shared(), BACKGROUND);
    expect(pids.length).toBeGreaterThan(0);

    await driver.destroy(ref);
    await Promise.allSettled([running.process.ended]);
    // Where sandboxes have process ids of their own, these would be other processes in another sandbox.
    if (!driver.capabilities.isolatesFiles) expect(await alive(await shared(), [...pids, running.process.pid])).toEqual([]);
    expect(await alive(neighbour, [foreign])).toEqual([foreign]);
    expect(await alive(await shared(), [outside])).toEqual([outside]);
    await printed(await shared(), 'kill "$1"', outside);
  },

  "K18 its state is told by its id alone, whoever owns it": async ({ driver, another, owner, create, connect }) => {
    const ref = await create();
    await (await connect(ref))[Symbol.asyncDispose]();
    expect(await another().stateOf({ ...ref, settings: undefined, fingerprint: "" })).toBe("running");
    expect(await driver.stateOf({ ...ref, id: `${ref.id.slice(0, -1)}${ref.id.endsWith("0") ? 1 : 0}` })).toBe("gone");
    await driver.stop?.(ref);
    expect(await driver.stateOf(ref)).toBe(driver.stop ? "stopped" : "running");
    await driver.destroy(ref);
    expect(await another().stateOf(ref)).toBe("gone");
    expect(await driver.stateOf({ ...ref, owner: owner({ task: "never-there" }) })).toBe("gone");
  },

  "activity shows a background process, and nothing when there is none": async ({ driver, create, connect }) => {
    if (driver.activity === undefined) return;
    const ref = await create();
    const connection = await connect(ref);
    await collect(connection, ["true"]);
    expect(await driver.activity(ref)).toEqual([]);
    const pid = Number(await printed(connection, BACKGROUND));
    expect(await driver.activity(ref)).toEqual([{ pid, command: expect.stringContaining("sleep") }]);
    await printed(connection, 'kill "$1"; while kill -0 "$1" && grep -qv Z "/proc/$1/stat"; do sleep 0.01; done 2>/dev/null', `${pid}`);
    expect(await driver.activity(ref)).toEqual([]);
  },

  "K2 a sandbox that is handed over is the same one, of another profile": async ({ driver, another, owner, create, connect }) => {
    if (driver.handOver === undefined) return;
    const ref = await create();
    const before = await connect(ref);
    await printed(before, 'echo kept >"$1/note"', before.stateDir);
    await before[Symbol.asyncDispose]();
    const moved = await driver.handOver(ref, "heir");
    expect(moved).toEqual({ ...ref, owner: { ...ref.owner, profile: "heir" } });
    expect(await another().list({ install: owner().install })).toEqual([moved]);
    await expect(driver.connect(ref)).rejects.toMatchObject({ code: "sandbox-not-found" });
    await expect(driver.handOver(ref, "another")).rejects.toMatchObject({ code: "sandbox-not-found" });
    const after = await connect(moved, another());
    expect(await printed(after, 'cat "$1/note"', after.stateDir)).toBe("kept");
    await after[Symbol.asyncDispose]();
    await driver.destroy(moved);
  },

  "S18 closing a connection leaves the sandbox and its processes alone": async ({ driver, another, create, connect }) => {
    const ref = await create();
    const first = await driver.connect(ref);
    const pid = await printed(first, `${BACKGROUND}; echo kept >"$1/note"`, first.stateDir);
    await first[Symbol.asyncDispose]();

    const second = await connect(ref, another());
    expect(second.stateDir).toBe(first.stateDir);
    expect(await printed(second, 'cat "$1/note"', second.stateDir)).toBe("kept");
    expect(await alive(second, [pid])).toEqual([pid]);
  },

  "a closed connection starts nothing more, and closing it twice is harmless": async ({ driver, create }) => {
    const connection = await driver.connect(await create());
    await collect(connection, ["true"]);
    await connection[Symbol.asyncDispose]();
    await connection[Symbol.asyncDispose]();
    await expect(collect(connection, ["true"])).rejects.toMatchObject({ code: "closed" });
  },

  "S20 a connection to a sandbox that was destroyed says that nothing ran": async ({ driver, another, create, connect }) => {
    const ref = await create();
    const connection = await connect(ref);
    await collect(connection, ["true"]);
    await another().destroy(ref);
    const attempt = collect(connection, ["true"]);
    await expect(attempt).rejects.toMatchObject({ code: "sandbox-lost", facts: { mayHaveRun: false } });
    expect(await driver.list(ref.owner)).toEqual([]);
  },

  "cancelled before it began, create makes nothing": async ({ driver, owner }) => {
    const attempt = driver.create(owner(), sandboxSpec(), { signal: AbortSignal.abort() });
    await expect(attempt).rejects.toMatchObject({ code: "aborted" });
    expect(await driver.list({ install: owner().install })).toEqual([]);
  },

  "cancelled on the way, create has made all or nothing": async ({ driver, owner, connect }) => {
    for (let turns = 0; turns < 8; turns++) {
      const cancel = new AbortController();
      const attempt = driver.create(owner({ task: `t${turns}` }), sandboxSpec(), { signal: cancel.signal }).then(
        (ref) => ref,
        (error: unknown) => error,
      );
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
      cancel.abort();
      const outcome = await attempt;
      const found = await driver.list(owner({ task: `t${turns}` }));
      if (found.length === 0) expect(outcome).toMatchObject({ code: "aborted" });
      else expect(outcome).toEqual(found[0]);
      for (const ref of found) expect(await printed(await connect(ref), "echo whole")).toBe("whole");
    }
  },

  "connect and destroy can be cancelled before they began": async ({ driver, owner, create }) => {
    const ref = await create();
    const signal = AbortSignal.abort();
    await expect(driver.connect(ref, { signal })).rejects.toMatchObject({ code: "aborted" });
    await expect(driver.destroy(ref, { signal })).rejects.toMatchObject({ code: "aborted" });
    expect(await driver.list({ install: owner().install })).toEqual([ref]);
  },

  "making and destroying at the same moment never leaves half a sandbox": async ({ driver, another, owner, create, connect }) => {
    for (let round = 0; round < 6; round++) {
      const ref = await create();
      await Promise.all([driver.destroy(ref), another().create(owner(), sandboxSpec()), another().create(owner(), sandboxSpec())]);
      const last = await create();
      expect(await printed(await connect(last), 'cd "$1" && echo whole', (await connect(last)).stateDir)).toBe("whole");
      expect(await driver.list({ install: owner().install })).toEqual([last]);
    }
  },
};
