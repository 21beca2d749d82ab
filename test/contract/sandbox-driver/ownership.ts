/** @module Cases: making, finding and telling sandboxes apart. */
import { expect } from "vitest";
import { fingerprint } from "../../../src/sandbox/spec.ts";
import { printed } from "../../helpers/collect.ts";
import { sandboxSpec } from "../../helpers/sandbox-spec.ts";
import type { Cases } from "./kit.ts";

export const ownershipCases: Cases = {
  "check says that the backend is ready, with a detail": async ({ driver }) => {
    expect(await driver.check()).toMatchObject({ status: "ready", detail: expect.stringMatching(/\S/) });
  },

  "check makes nothing, not even when it is cancelled": async ({ driver, owner }) => {
    await driver.check();
    await driver.check({ signal: AbortSignal.abort() });
    expect(await driver.list({ install: owner().install })).toEqual([]);
  },

  "list finds sandboxes by install, by profile and by task": async ({ driver, owner, create }) => {
    const red = await create(owner({ profile: "red", task: "one" }));
    const blue = await create(owner({ profile: "blue", task: "one" }));
    const second = await create(owner({ profile: "red", task: "two" }));
    const ids = async (filter: { profile?: string; task?: string }) =>
      (await driver.list({ install: owner().install, ...filter })).map((ref) => ref.id).sort();

    expect(await ids({})).toEqual([red.id, blue.id, second.id].sort());
    expect(await ids({ profile: "red" })).toEqual([red.id, second.id].sort());
    expect(await ids({ task: "one" })).toEqual([red.id, blue.id].sort());
    expect(await ids({ profile: "red", task: "two" })).toEqual([second.id]);
    expect(await ids({ profile: "green" })).toEqual([]);
  },

  "list never shows sandboxes of another install": async ({ driver, owner, create, onEnd }) => {
    const foreign = await create(owner({ install: `${owner().install}-foreign` }));
    onEnd(() => driver.destroy(foreign));
    expect(await driver.list({ install: owner().install })).toEqual([]);
  },

  "the same task of two installs is two sandboxes": async ({ driver, owner, create, onEnd }) => {
    const foreign = await create(owner({ install: `${owner().install}-foreign` }));
    onEnd(() => driver.destroy(foreign));
    const own = await create();
    expect(own.id).not.toBe(foreign.id);
    expect(own.owner).toEqual(owner());
  },

  "a ref tells whose sandbox it is and what it was made from": async ({ driver, owner, create }) => {
    const before = Date.now();
    const ref = await create(owner({ task: "t_1" }), { image: "an-image" });
    expect(ref).toMatchObject({
      driver: driver.name,
      id: expect.stringMatching(/\S/),
      owner: owner({ task: "t_1" }),
      fingerprint: fingerprint(sandboxSpec({ image: "an-image" })),
      state: "running",
      createdAt: expect.any(Number),
    });
    // Backends keep seconds, or have a clock of their own.
    expect(Math.abs(ref.createdAt - before)).toBeLessThan(60_000);
    expect(await driver.list(owner({ task: "t_1" }))).toEqual([ref]);
  },

  "a ref is plain data: one that was stored as JSON still connects": async ({ create, connect }) => {
    const ref = await create();
    const stored = JSON.parse(JSON.stringify(ref));
    expect(stored).toEqual(ref);
    expect(await printed(await connect(stored), "echo here")).toBe("here");
  },

  "creating twice gives the same sandbox": async ({ driver, owner, create }) => {
    const first = await create();
    expect(await create()).toEqual(first);
    expect(await driver.list({ install: owner().install })).toHaveLength(1);
  },

  "S15 eight concurrent creates make one sandbox": async ({ driver, another, owner }) => {
    const drivers = [driver, another()];
    const refs = await Promise.all(Array.from({ length: 8 }, (_, index) => drivers[index % 2]?.create(owner(), sandboxSpec())));
    expect(new Set(refs.map((ref) => ref?.id)).size).toBe(1);
    // Whoever comes second may know less about it, but not another one.
    expect((await driver.list({ install: owner().install })).map(({ id }) => id)).toEqual([refs[0]?.id]);
  },

  "an existing sandbox is returned as it is, also for another spec": async ({ create, owner }) => {
    const first = await create(owner(), { image: "old" });
    const second = await create(owner(), { image: "new" });
    expect(second).toEqual(first);
    expect(second.fingerprint).toBe(fingerprint(sandboxSpec({ image: "old" })));
  },

  "S12 tasks whose cleaned-up names are alike stay apart": async ({ driver, owner, create, connect }) => {
    const tasks = ["a:b", "a_b", "a b", "A_b", "ä_b"];
    const refs = await Promise.all(tasks.map((task) => create(owner({ task }))));
    const connections = await Promise.all(refs.map((ref) => connect(ref)));
    for (const [index, connection] of connections.entries())
      await printed(connection, 'echo "$2" >"$1/note"', connection.stateDir, `${index}`);
    const notes = await Promise.all(connections.map((connection) => printed(connection, 'cat "$1/note"', connection.stateDir)));
    expect(notes).toEqual(["0", "1", "2", "3", "4"]);
    expect(await driver.list(owner({ task: "a:b" }))).toEqual([refs[0]]);
  },

  "S18 another process finds a sandbox exactly if the driver says that they persist": async ({ driver, stranger, owner, create }) => {
    const ref = await create();
    const other = stranger();
    const found = await other.list({ install: owner().install });
    if (!driver.capabilities.persistsAcrossProcesses) {
      expect(found).toEqual([]);
      await expect(other.connect(ref)).rejects.toMatchObject({ code: "sandbox-not-found" });
      return;
    }
    expect(found).toEqual([ref]);
    await using connection = await other.connect(ref);
    expect(await printed(connection, "echo here")).toBe("here");
  },

  "host files are visible exactly if the driver says that it does not isolate them": async ({ driver, directory, shared }) => {
    const seen = await printed(await shared(), "if [[ -e $1 ]]; then echo seen; else echo hidden; fi", directory);
    expect(seen).toBe(driver.capabilities.isolatesFiles ? "hidden" : "seen");
  },

  "the directory in which sessions begin is the caller's, or one that is there": async ({ driver, shared }) => {
    const { startDirectory } = driver.capabilities;
    if (startDirectory === "caller") expect(driver.capabilities.isolatesFiles).toBe(false);
    else expect(await printed(await shared(), 'cd -- "$1" && pwd', startDirectory)).toBe(startDirectory);
  },

  "the state directory is absolute, private and empty at first": async ({ create, connect }) => {
    const { stateDir, ...connection } = await connect(await create());
    expect(stateDir).toMatch(/^\//);
    const facts = await printed({ stateDir, ...connection }, 'stat -c "%F %a" -- "$1" && cd "$1" && echo *', stateDir);
    expect(facts.split("\n")).toEqual(["directory 700", "*"]);
  },
};
