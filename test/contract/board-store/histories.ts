/** @module A case: random histories, after each of which everything that must always hold does. */
import fc from "fast-check";
import { expect } from "vitest";
import type { BoardEvent } from "../../../src/board/events.ts";
import type { Store } from "../../../src/board/store.ts";
import { type Cases, type Kit, ME } from "./kit.ts";

const ACTIONS = [
  ...["create", "create", "child", "child", "link", "unlink", "claim", "claim", "claim", "heartbeat", "complete", "complete", "finish"],
  ...["block", "wait", "review", "changes", "unblock", "schedule", "wake", "archive", "promote", "assign", "comment", "revoke", "release"],
  ...["crash", "late", "plan", "decompose", "specify", "repeat", "deadline", "overdue", "reopen", "remove"],
] as const;

interface Step {
  readonly action: string;
  /** Which tasks, counted from the youngest. */
  readonly one: number;
  readonly two: number;
}

interface History {
  readonly tasks: string[];
  /** Every token that was ever given, with its task and run. */
  readonly claims: { task: string; run: number; token: string }[];
  /** Those of tasks that are gone. */
  readonly removed: History["claims"];
  done: number;
}

export const historyCases: Cases = {
  "K7 K8 K9 K17 whatever happens in whatever order, every rule holds": async (kit) => {
    const { runs, steps } = kit.histories;
    const step = fc.record({ action: fc.constantFrom(...ACTIONS), one: fc.nat(7), two: fc.nat(7) });
    let [count, done] = [0, 0];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: steps, maxLength: steps }), async (sequence) => {
        count += 1;
        const { slug: board } = await kit.store.createBoard(`${kit.board}-history-${count}`, ME);
        const history: History = { tasks: [], claims: [], removed: [], done: 0 };
        for (const each of sequence) await attempt(kit, { board, history, step: each });
        await checkRules(kit.store, board, history);
        done += history.done;
      }),
      { numRuns: runs },
    );
    // Histories in which nearly everything is refused would prove little.
    expect(done).toBeGreaterThan((runs * steps) / 4);
  },
};

interface Scene {
  readonly board: string;
  readonly history: History;
  readonly step: Step;
}

/** A refusal is fine, an error of another kind is not. */
async function attempt(kit: Kit, scene: Scene): Promise<void> {
  try {
    await perform(kit, scene);
    scene.history.done += 1;
  } catch (error) {
    expect(["move-refused", "link-refused", "claim-lost"]).toContain((error as { code?: string }).code ?? error);
  }
}

async function perform({ store, clock }: Kit, { board, history, step }: Scene): Promise<unknown> {
  const { tasks, claims } = history;
  const pick = (back: number) => tasks[tasks.length - 1 - (back % Math.max(1, tasks.length))] ?? "";
  const create = async (parents: string[]) => {
    const initial = step.two === 0 ? ("triage" as const) : undefined;
    const { task } = await store.createTask({ title: "a", board, parents, priority: step.one % 3, initial }, ME);
    tasks.push(task.id);
  };
  /** Of a task that repeats comes another. */
  const finish = async (id: string, actor: Parameters<Store["complete"]>[2]) => {
    const known = (await store.getTask(id)).successor;
    const { successor } = await store.complete(id, { summary: "done", tokens: 1 }, actor);
    if (successor !== null && known === null) tasks.push(successor);
  };
  if (tasks.length === 0 || step.action === "create") return await create([]);
  const [one, two] = [pick(step.one), pick(step.two)];
  const held = claims.findLast(({ task }) => task === one) ?? { task: one, run: 0, token: "none" };
  const actor = { token: held.token };
  const actions: Record<string, () => Promise<unknown>> = {
    child: () => create([...new Set([one, two])]),
    link: () => store.link(one, two, ME),
    unlink: () => store.unlink(one, two, ME),
    claim: async () => {
      const { run, token } = await store.claim(one, { by: "d", ttlMs: 1000 });
      claims.push({ task: one, run: run.id, token });
    },
    heartbeat: () => store.heartbeat(one, held.token),
    complete: () => finish(one, actor),
    finish: () => finish(one, ME),
    block: () => store.block(one, { reason: "x", kind: "needs_input" }, step.two % 2 === 0 ? actor : ME),
    wait: () => store.block(one, { reason: "x", kind: "dependency" }, actor),
    review: () => store.requestReview(one, {}, step.two % 2 === 0 ? actor : ME),
    changes: () => store.requestChanges(one, { reason: "x" }, step.two % 2 === 0 ? actor : ME),
    unblock: () => store.unblock(one, ME),
    schedule: () => store.schedule(one, clock.now() + step.two, ME),
    wake: async () => {
      await clock.advance(step.two);
      await store.wakeDue(clock.now());
    },
    archive: () => store.archive(one, ME),
    promote: () => store.promote(one, ME),
    assign: () => store.assign(one, `p${step.two}`, ME),
    comment: () => store.comment(one, "x", actor),
    revoke: () => store.revoke(held.run, { by: "d", reason: "x" }),
    release: () => store.release(held.run, { by: "d", outcome: "reclaimed" }),
    crash: () => store.release(held.run, { by: "d", outcome: "crashed", error: "x" }),
    late: () => useLate(store, history, step),
    plan: async () => {
      const made = await store.createTasks(
        [
          { title: "b", board, after: [step.one % 3] },
          { title: "c", board, parents: [two] },
          { title: "d", board, after: [step.two % 3], initial: "triage" },
        ],
        ME,
      );
      tasks.push(...made.map(({ task }) => task.id));
    },
    decompose: async () => {
      const { children } = await store.decompose(one, { tasks: [{ title: "e" }, { title: "f", after: [0], parents: [two] }] }, ME);
      tasks.push(...children.map(({ id }) => id));
    },
    specify: () => store.specify(one, { body: "x" }, ME),
    repeat: () => store.editTask(one, { repeat: step.two % 3 === 0 ? null : "every 1s" }, ME),
    deadline: () => store.editTask(one, { deadline: clock.now() + step.two }, ME),
    overdue: () => store.markOverdue(clock.now()),
    reopen: () => store.reopen(one, ME),
    remove: async () => {
      await store.removeTask(one, ME);
      tasks.splice(tasks.indexOf(one), 1);
      const all = claims.splice(0);
      claims.push(...all.filter(({ task }) => task !== one));
      history.removed.push(...all.filter(({ task }) => task === one));
    },
  };
  return await actions[step.action]?.();
}

/** A token of another run, or of one before, opens nothing. */
async function useLate(store: Store, { claims }: History, { one }: Step): Promise<void> {
  const late = claims[one];
  if (late === undefined) return;
  const [open] = await store.runs({ task: late.task, open: true });
  if (open?.id === late.run) return;
  await expect(store.complete(late.task, {}, { token: late.token })).rejects.toMatchObject({ code: "claim-lost" });
  await expect(store.heartbeat(late.task, late.token)).rejects.toMatchObject({ code: "claim-lost" });
}

async function checkRules(store: Store, board: string, { tasks, claims, removed }: History): Promise<void> {
  const [all, open, events] = [await store.listTasks({ board }), await store.runs({ board, open: true }), await allEvents(store, board)];
  const statuses = new Map(all.map(({ id, status }) => [id, status]));
  expect(all.map(({ id }) => id).toSorted()).toEqual(tasks.toSorted());
  expect(open.map(({ task }) => task).toSorted()).toEqual(
    all
      .filter(({ status }) => status === "running")
      .map(({ id }) => id)
      .toSorted(),
  );

  const finished = (id: string) => ["done", "archived"].includes(statuses.get(id) ?? "");
  const parents = new Map<string, string[]>();
  for (const id of tasks)
    parents.set(
      id,
      (await store.parents(id)).map((parent) => parent.id),
    );
  for (const [id, above] of parents) {
    if (["ready", "review"].includes(statuses.get(id) ?? "")) expect(above.filter((parent) => !finished(parent))).toEqual([]);
    if (statuses.get(id) === "todo") expect(above.some((parent) => !finished(parent))).toBe(true);
    expect(isBelow(id, id, parents)).toBe(false);
  }

  for (const id of tasks) expect(replay(events, id)).toBe(statuses.get(id));
  const current = new Set(open.map(({ id }) => id));
  for (const { task, run, token } of claims.filter((claim) => !current.has(claim.run))) {
    await expect(store.comment(task, "late", { token }), `run ${run}`).rejects.toMatchObject({ code: "claim-lost" });
  }
  for (const { task, token } of removed)
    await expect(store.comment(task, "late", { token })).rejects.toMatchObject({ code: "task-not-found" });
  expect(events.filter(({ kind }) => kind === "claimed").map(({ run }) => run)).toEqual(claims.map(({ run }) => run));
}

/** Page by page, as a reader follows them. */
async function allEvents(store: Store, board: string): Promise<BoardEvent[]> {
  const events: BoardEvent[] = [];
  for (;;) {
    const page = await store.events({ board, since: events.at(-1)?.id ?? 0, limit: 50 });
    if (page.length === 0) return events;
    events.push(...page);
  }
}

/** The status that the events of a task tell, none of which may be missing. */
function replay(events: readonly BoardEvent[], id: string): unknown {
  let status: unknown = "new";
  for (const { task, payload } of events) {
    if (task !== id || payload.to === undefined) continue;
    expect(payload.from).toBe(status);
    status = payload.to;
  }
  return status;
}

function isBelow(id: string, ancestor: string, parents: ReadonlyMap<string, readonly string[]>, seen = new Set<string>()): boolean {
  return (parents.get(id) ?? []).some((parent) => {
    if (parent === ancestor) return true;
    if (seen.has(parent)) return false;
    seen.add(parent);
    return isBelow(parent, ancestor, parents, seen);
  });
}
