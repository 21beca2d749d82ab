/** @module Trust does not rise on the way: what comes from a sandbox is not given to a worker on the host. */
import { mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { NewSandboxPlace } from "../../src/board/sandbox-places.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { type Bench, ME, WORKER } from "./bench.ts";
import type { Cases } from "./kit.ts";

/** A task on which a worker in a sandbox works, and its claim. */
async function inSandbox(bench: Bench, places: readonly NewSandboxPlace[] = []) {
  const { id } = await bench.task({ assignee: "lane" });
  const claim = await bench.store.claim(id, { ...ME, ttlMs: 60_000 });
  await bench.store.enterSandbox(id, claim.token, places);
  await bench.store.recordWorker(id, claim.token, { isolated: true, machine: "elsewhere" });
  return claim;
}

async function made(bench: Bench) {
  const { task, token } = await inSandbox(bench);
  return (await bench.store.createTask({ title: "made", assignee: "coder" }, { task: task.id, token })).task;
}

export const trustCases: Cases = {
  "K4 K29 what comes from a sandbox waits for a worker that is as isolated, or for a profile that accepts it": async (bench) => {
    const { dispatcher, store, isolating, profiles } = bench;
    const { id } = await made(bench);
    const refused = { skipped_nonspawnable: [{ task: id, assignee: "coder", reason: "from_sandbox" }], spawned: [] };
    expect(await dispatcher.runOnce("default", { dryRun: true })).toMatchObject(refused);
    expect(await dispatcher.runOnce("default")).toMatchObject(refused);
    expect(await store.getTask(id)).toMatchObject({ status: "ready", failures: 0 });
    isolating.add("coder");
    expect(await dispatcher.runOnce("default", { dryRun: true })).toMatchObject({ spawned: [{ task: id }] });
    isolating.clear();
    profiles.coder = { ...WORKER, acceptsFromSandboxes: true };
    expect(await dispatcher.runOnce("default")).toMatchObject({ spawned: [{ task: id, assignee: "coder" }], skipped_nonspawnable: [] });
  },

  "K14 K29 the default assignee and the reviewer get no more than others": async (bench) => {
    const { dispatcher, store, settings } = bench;
    settings.defaultAssignee = "writer";
    const { task, token } = await inSandbox(bench);
    const { task: child } = await store.createTask({ title: "made" }, { task: task.id, token });
    await store.requestReview(task.id, { reviewer: "coder" }, { token });
    const worker = bench.store.runs({ task: task.id });
    await store.recordExit((await worker)[0]?.id ?? 0, { code: 0, signal: null, reason: "exited" });
    expect(await dispatcher.runOnce("default")).toMatchObject({
      spawned: [],
      skipped_nonspawnable: [
        { task: task.id, assignee: "coder", reason: "from_sandbox" },
        { task: child.id, assignee: "writer", reason: "from_sandbox" },
      ],
    });
  },

  "K20 K29 a sandbox has a hand in it while it is taken: it is put back without a failure": async (bench) => {
    const { dispatcher, store, world } = bench;
    const parent = await inSandbox(bench);
    const { id } = await bench.task();
    const { claim } = store;
    store.claim = async (task, options) => {
      await store.link(parent.task.id, task, { task: parent.task.id, token: parent.token });
      await store.unlink(parent.task.id, task, ME);
      return await claim(task, options);
    };
    expect(await dispatcher.runOnce("default", { wait: true })).toMatchObject({ spawned: [] });
    store.claim = claim;
    expect(world.workers).toEqual([]);
    expect(await store.getTask(id)).toMatchObject({ status: "ready", failures: 0, fromSandbox: true });
    expect(await dispatcher.runOnce("default")).toMatchObject({ skipped_nonspawnable: [{ task: id, reason: "from_sandbox" }] });
  },

  "K30 a directory to which a sandbox could write is no workspace on the host, whatever leads there": async (bench) => {
    await using scratch = await temporaryDirectory();
    const at = (...names: string[]) => join(scratch.path, ...names);
    for (const name of ["open/named/deep", "open/own", "safe"]) await mkdir(at(name), { recursive: true });
    await symlink(at("open/named/deep"), at("link"));
    // A link in a directory to which the sandbox can write, through which the way goes elsewhere.
    await symlink(at("safe"), at("open/named/out"));
    await inSandbox(bench, [
      { path: at("open/named"), managed: false },
      { path: at("open/own"), managed: true },
    ]);
    const none = ["scratch", `dir:${at("safe")}`, `dir:${at("open/named-too")}`, `worktree:${at("safe")}`];
    const refused = [
      ["open/named", "in it"],
      ["open/named/deep", "deeper"],
      ["open/named/new", "to be made"],
      ["open", "around it"],
      ["link", "a link to it"],
      ["open/named/out", "a link in it"],
      ["open/own", "made for a task"],
    ].map(([path = ""]) => `dir:${at(path)}`);
    const { dispatcher, isolating } = bench;
    const ids: Record<string, string> = {};
    for (const workspace of [...none, ...refused, `worktree:${at("open/named")}`]) ids[(await bench.task({ workspace })).id] = workspace;
    const workspaces = (list: readonly { task: string }[]) => list.map(({ task }) => ids[task]);
    const dry = await dispatcher.runOnce("default", { dryRun: true });
    expect(workspaces(dry.spawned)).toEqual(none);
    const because = (reason: string) => workspaces(dry.skipped_nonspawnable.filter((each) => each.reason === reason));
    expect(because("sandbox_directory")).toEqual(refused);
    expect(because("sandbox_repository")).toEqual([`worktree:${at("open/named")}`]);
    // In a sandbox they may; but git makes a worktree on the host.
    isolating.add("coder");
    const result = await dispatcher.runOnce("default");
    expect(workspaces(result.spawned)).toEqual([...none, ...refused]);
    expect(result.skipped_nonspawnable).toMatchObject([{ reason: "sandbox_repository" }]);
    await rm(at("link"));
  },

  "K30 the default directory of the board is a repository like any other": async (bench) => {
    await using scratch = await temporaryDirectory();
    const { dispatcher, store } = bench;
    await store.editBoard("default", { defaultWorkdir: scratch.path, by: "me" });
    await inSandbox(bench, [{ path: scratch.path, managed: false }]);
    const { id } = await bench.task({ workspace: "worktree" });
    expect(await dispatcher.runOnce("default")).toMatchObject({
      skipped_nonspawnable: [{ task: id, assignee: "coder", reason: "sandbox_repository" }],
    });
  },
};
