/** @module Cases: what sandboxes have had a hand in, for whoever starts workers on the host. */
import { expect } from "vitest";
import { type Cases, type Kit, ME } from "./kit.ts";

/** A task whose worker is in a sandbox with files of its own. */
async function inSandbox({ store, taken }: Kit, fields: Parameters<Kit["taken"]>[0] = {}) {
  const claim = await taken(fields);
  await store.enterSandbox(claim.task.id, claim.token, []);
  await store.recordWorker(claim.task.id, claim.token, { isolated: true });
  return claim;
}

export const fromSandboxCases: Cases = {
  "K29 what a worker in a sandbox works on, makes or lets wait comes from there, and nothing else does": async (kit) => {
    const { store, create, board } = kit;
    const known = async (id: string) => (await store.getTask(id)).fromSandbox;
    const { task, token } = await inSandbox(kit);
    const author = { task: task.id, token };
    const { task: made } = await store.createTask({ title: "made", board }, author);
    const [waits, other] = [await create(), await create()];
    await store.link(task.id, waits.id, author);
    expect([await known(task.id), made.fromSandbox, await known(waits.id), await known(other.id)]).toEqual([true, true, true, false]);
    expect((await store.waiting(board)).map(({ id, fromSandbox }) => [id, fromSandbox])).toEqual([
      [made.id, true],
      [other.id, false],
    ]);
    const onHost = await kit.taken();
    await store.recordWorker(onHost.task.id, onHost.token, { isolated: false });
    const below = await store.createTask({ title: "x", board }, { task: onHost.task.id, token: onHost.token });
    expect(below.task.fromSandbox).toBe(false);
  },

  "K29 it stays so through reviews, other assignees, repeats and the parts of an idea": async (kit) => {
    const { store, board } = kit;
    const { task, token } = await inSandbox(kit, { repeat: "every 60m" });
    const { task: idea } = await store.createTask({ title: "idea", board, initial: "triage" }, { task: task.id, token });
    const { children } = await store.decompose(idea.id, { tasks: [{ title: "one" }, { title: "two" }] }, ME);
    expect(children.map(({ fromSandbox }) => fromSandbox)).toEqual([true, true]);
    const asked = await store.requestReview(task.id, { reviewer: "editor" }, { token });
    expect((await store.assign(asked.id, "other", ME)).fromSandbox).toBe(true);
    const done = await store.complete(task.id, {}, ME);
    expect(await store.getTask(done.successor ?? "")).toMatchObject({ fromSandbox: true, status: "scheduled" });
  },

  "K5 K29 a copy of the board knows it, too": async (kit) => {
    const { store, board, create } = kit;
    const { task } = await inSandbox(kit);
    const other = await create();
    const data = JSON.parse(JSON.stringify(await store.exportBoard(board)));
    const { ids } = await store.importBoard(data, { by: "me", as: `${board}-copy` });
    expect((await store.getTask(ids[task.id] ?? "")).fromSandbox).toBe(true);
    expect((await store.getTask(ids[other.id] ?? "")).fromSandbox).toBe(false);
    // Of before it was known.
    const old = { ...data, tasks: data.tasks.map(({ fromSandbox: _, ...rest }: { fromSandbox: boolean }) => rest) };
    const { ids: again } = await store.importBoard(old, { by: "me", as: `${board}-old` });
    expect((await store.getTask(again[task.id] ?? "")).fromSandbox).toBe(false);
  },

  "K30 a directory to which a sandbox could write is known for ever, by itself and by what is around it if it was named": async (kit) => {
    const { store, board } = kit;
    const { task, token } = await kit.taken();
    const places = [
      { path: `/${board}/named`, managed: false },
      { path: `/${board}/own/t_1`, managed: true },
    ];
    await store.enterSandbox(task.id, token, places);
    const find = (among: string[], around = "/nowhere") => store.sandboxPlace({ among, around });
    const named = { path: `/${board}/named`, task: task.id };
    expect(await find(["/", `/${board}/named`, `/${board}/named/below`])).toEqual(named);
    expect(await find(["/", `/${board}/own/t_1`])).toMatchObject({ path: `/${board}/own/t_1` });
    expect(await find(["/", `/${board}`], `/${board}`)).toEqual(named);
    expect(await find(["/"], `/${board}/own`)).toBeNull();
    expect(await find(["/"], `/${board}/na`)).toBeNull();
    // Once it was named it stays so, and a task that is gone takes nothing along.
    await store.enterSandbox(task.id, token, [{ path: `/${board}/named`, managed: true }]);
    await store.complete(task.id, {}, { token });
    await store.archive(task.id, ME);
    await store.removeTask(task.id, ME);
    expect(await find(["/"], `/${board}`)).toEqual(named);
    await expect(store.enterSandbox((await kit.create()).id, token, [])).rejects.toMatchObject({ code: "claim-lost" });
  },
};
