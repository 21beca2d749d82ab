/** @module Cases: several connections at once. */
import { expect } from "vitest";
import type { BoardEvent } from "../../../src/board/events.ts";
import type { Task } from "../../../src/board/task.ts";
import { type Cases, type Kit, ME, withStores } from "./kit.ts";

const ROUNDS = 20;

export const concurrencyCases: Cases = {
  "K17 a task that several take at once is given to one": (kit) =>
    withStores(kit, 3, async (stores) => {
      const tasks = await many(kit, ROUNDS);
      const attempts = await Promise.allSettled(tasks.flatMap(({ id }) => stores.map((store) => store.claim(id, { by: "d" }))));
      const won = attempts.filter((attempt) => attempt.status === "fulfilled").map(({ value }) => value.task.id);
      expect(won.toSorted()).toEqual(tasks.map(({ id }) => id).toSorted());
      for (const attempt of attempts) if (attempt.status === "rejected") expect(attempt.reason).toMatchObject({ code: "move-refused" });
      expect(await kit.store.runs({ board: kit.board, open: true })).toHaveLength(ROUNDS);
    }),

  "K15 caps hold also when several take at once": (kit) =>
    withStores(kit, 3, async (stores) => {
      const caps = { perProfile: null, perBoard: 3, all: null };
      const attempts = (await many(kit, ROUNDS)).map(({ id }, index) => stores[index % 3]?.claim(id, { by: "d", profile: "coder", caps }));
      const settled = await Promise.allSettled(attempts);
      for (const each of settled) if (each.status === "rejected") expect(each.reason).toMatchObject({ code: "move-refused" });
      const open = await kit.store.runs({ board: kit.board, open: true });
      expect(open).toHaveLength(3);
      const { id } = (await kit.store.listTasks({ board: kit.board, status: "ready" }))[0] ?? { id: "" };
      const more = (most: object) =>
        kit.store.claim(id, { by: "d", profile: "coder", caps: { perProfile: null, perBoard: null, all: null, ...most } });
      await expect(more({ perProfile: 3 })).rejects.toThrow(/coder already has \d+ running/);
      await expect(more({ all: 3 })).rejects.toThrow(/already run on all boards/);
      expect(await more({ perBoard: 4 })).toMatchObject({ run: { profile: "coder" } });
    }),

  "K17 those who ask for the next one at once get different ones, until there is none": (kit) =>
    withStores(kit, 3, async (stores) => {
      const tasks = await many(kit, ROUNDS);
      const takeAll = async (store: (typeof stores)[number]) => {
        const taken: string[] = [];
        for (;;) {
          const claim = await store.claimNext({ board: kit.board, by: "d" });
          if (claim === null) return taken;
          taken.push(claim.task.id);
        }
      };
      const taken = (await Promise.all(stores.map(takeAll))).flat();
      expect(taken.toSorted()).toEqual(tasks.map(({ id }) => id).toSorted());
    }),

  "K8 parents that finish at once leave no child waiting": (kit) =>
    withStores(kit, 2, async (stores) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const parents = await many(kit, 2);
        const child = await kit.create({ parents: parents.map(({ id }) => id) });
        await Promise.all(parents.map(({ id }, index) => stores[index]?.complete(id, {}, ME)));
        expect(await kit.statusOf(child)).toBe("ready");
      }
    }),

  "K8 a child that is made while its parent finishes does not wait for it": (kit) =>
    withStores(kit, 2, async ([one, two]) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const [parent] = await many(kit, 1);
        const [, made] = await Promise.all([
          one?.complete(parent?.id ?? "", {}, ME),
          two?.createTask({ title: "child", board: kit.board, parents: [parent?.id ?? ""] }, ME),
        ]);
        expect(await kit.statusOf({ id: made?.task.id ?? "" })).toBe("ready");
      }
    }),

  "K8 a run that is released while the parent finishes does not wait for it": (kit) =>
    withStores(kit, 2, async ([one, two]) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const [parent] = await many(kit, 1);
        const { task, run } = await kit.taken();
        await kit.store.link(parent?.id ?? "", task.id, ME);
        await Promise.all([one?.complete(parent?.id ?? "", {}, ME), two?.release(run.id, { by: "d", outcome: "reclaimed" })]);
        expect(await kit.statusOf(task)).toBe("ready");
      }
    }),

  "K8 two links at once close no cycle": (kit) =>
    withStores(kit, 2, async ([one, two]) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const [a, c] = (await many(kit, 2)).map(({ id }) => id) as [string, string];
        const [{ id: b }, { id: d }] = [await kit.create({ parents: [a] }), await kit.create({ parents: [c] })];
        // Four different tasks: no row that both of them lock.
        const results = await Promise.allSettled([one?.link(b, c, ME), two?.link(d, a, ME)]);
        expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      }
    }),

  "K17 a completion and a revocation at once: one of them comes first": (kit) =>
    withStores(kit, 2, async ([one, two]) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const { task, run, token } = await kit.taken();
        const [completed, revoked] = await Promise.allSettled([
          one?.complete(task.id, {}, { token }),
          two?.revoke(run.id, { by: "d", reason: "x" }),
        ]);
        const wasRevoked = revoked.status === "fulfilled" && revoked.value === true;
        expect(completed.status).toBe(wasRevoked ? "rejected" : "fulfilled");
      }
    }),

  "K8 a task that is opened again while its child is taken: the child runs, or waits": (kit) =>
    withStores(kit, 2, async ([one, two]) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const [parent] = await many(kit, 1);
        await kit.store.complete(parent?.id ?? "", {}, ME);
        const child = await kit.create({ parents: [parent?.id ?? ""] });
        const [, taken] = await Promise.allSettled([one?.reopen(parent?.id ?? "", ME), two?.claim(child.id, { by: "d" })]);
        expect(await kit.statusOf(child)).toBe(taken.status === "fulfilled" ? "running" : "todo");
      }
    }),

  "K35 an idea that several decompose at once is decomposed once": (kit) =>
    withStores(kit, 3, async (stores) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const idea = await kit.create({ initial: "triage" });
        const tasks = [{ title: "one" }, { title: "two", after: [0] }];
        const attempts = await Promise.allSettled(stores.map((store) => store.decompose(idea.id, { tasks }, ME)));
        expect(attempts.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
        expect(await kit.store.parents(idea.id)).toHaveLength(2);
      }
    }),

  "K6 K35 a list with keys that several make at once is made once": (kit) =>
    withStores(kit, 3, async (stores) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const list = ["a", "b"].map((title) => ({ title, board: kit.board, idempotencyKey: `${title} ${round}` }));
        const made = await Promise.all(stores.map((store) => store.createTasks(list, ME)));
        expect(new Set(made.flat().map(({ task }) => task.id)).size).toBe(2);
        expect(made.flat().filter(({ created }) => created)).toHaveLength(2);
      }
    }),

  "K10 a task that several complete at once has one successor, and a deadline that several note is noted once": (kit) =>
    withStores(kit, 3, async (stores) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const [task, late] = [await kit.create({ repeat: "every 1h" }), await kit.create({ deadline: 1 })];
        await Promise.allSettled(stores.map((store) => store.complete(task.id, {}, ME)));
        const noted = (await Promise.all(stores.map((store) => store.markOverdue(1)))).flat();
        expect(noted.filter((id) => id === late.id)).toHaveLength(1);
        const successors = (await kit.store.listTasks({ board: kit.board })).filter(
          ({ series, id }) => series === task.id && id !== task.id,
        );
        expect(successors).toHaveLength(1);
        await kit.store.archive(successors[0]?.id ?? "", ME);
      }
    }),

  "K6 a key that several use at once makes one task": (kit) =>
    withStores(kit, 3, async (stores) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const task = { title: "a", board: kit.board, idempotencyKey: `key ${round}` };
        const made = await Promise.all(stores.map((store) => store.createTask(task, ME)));
        expect(new Set(made.map((each) => each.task.id)).size).toBe(1);
        expect(made.filter(({ created }) => created)).toHaveLength(1);
      }
    }),

  "K5 K17 a task that is taken while its board is archived or removed: it runs, or the board goes": (kit) =>
    withStores(kit, 2, async ([one, two]) => {
      for (let round = 0; round < 2 * ROUNDS; round += 1) {
        const { slug: board } = await kit.store.createBoard(`${kit.board}-${round}`, ME);
        const tasks = await Promise.all(Array.from({ length: 4 }, () => kit.create({ board })));
        const going = round % 2 === 0 ? two?.archiveBoard(board, ME) : two?.removeBoard(board, ME);
        const [gone, ...taken] = await Promise.allSettled([going, ...tasks.map(({ id }) => one?.claim(id, { by: "d" }))]);
        const running = taken.filter(({ status }) => status === "fulfilled");
        expect(running).toHaveLength(gone.status === "fulfilled" ? 0 : tasks.length);
      }
    }),

  "K24 of several that want to lead, one does": (kit) =>
    withStores(kit, 3, async (stores) => {
      const terms = await Promise.all(stores.map((store, index) => store.lead(kit.board, `holder ${index}`, { ttlMs: 1000 })));
      expect(terms.filter((term) => term !== null)).toHaveLength(1);
    }),

  "K9 whoever follows the events while others write misses none": (kit) =>
    withStores(kit, 3, async ([reader, ...writers]) => {
      const seen: BoardEvent[] = [];
      let writing = true;
      const follow = async () => {
        for (let more = true; more; ) {
          more = writing;
          const since = seen.at(-1)?.id ?? 0;
          seen.push(...((await reader?.events({ board: kit.board, since, limit: 7 })) ?? []));
          more ||= (seen.at(-1)?.id ?? 0) !== since;
        }
      };
      const write = async (store: (typeof writers)[number]) => {
        for (let round = 0; round < ROUNDS; round += 1) {
          const one = store.createTask({ title: "a", board: kit.board }, ME);
          const two = store.createTask({ title: "b", board: kit.board }, ME);
          await store.complete((await one).task.id, {}, ME);
          await two;
        }
      };
      const following = follow();
      await Promise.all(writers.map(write));
      writing = false;
      await following;
      expect(seen.map(({ id }) => id)).toEqual((await kit.store.events({ board: kit.board })).map(({ id }) => id));
      expect(seen.filter(({ kind }) => kind === "created")).toHaveLength(writers.length * ROUNDS * 2);
    }),
};

async function many({ create }: Kit, count: number): Promise<Task[]> {
  return await Promise.all(Array.from({ length: count }, () => create()));
}
