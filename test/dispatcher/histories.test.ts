import fc from "fast-check";
import { expect, test } from "vitest";
import { STATUSES } from "../../src/board/transitions.ts";
import type { Dispatcher } from "../../src/dispatcher/dispatcher.ts";
import { soakCount } from "../helpers/soak.ts";
import { type Bench, ME, openBench } from "./bench.ts";
import type { ModelWorker } from "./model-launcher.ts";

const HISTORIES = soakCount("histories of a dispatcher", { check: 40, soak: 250 });
const STEPS = 40;
const DAY_MS = 86_400_000;

/** What may happen next; `which` chooses among those it may happen to. */
const EVENTS = {
  pass: ({ pass }) => pass({}),
  "pass that waits": ({ pass, calm }) => pass({ wait: calm() }),
  "pass of a second dispatcher": ({ bench, second }) =>
    second()
      .runOnce("default")
      .then(() => bench.clock.advance(0)),
  "new task": async ({ bench }) => void (await bench.task({ assignee: "coder" })),
  "worker exits": ({ bench, worker }) => worker((each) => bench.world.exit(each.task, { code: 1 })),
  "worker ends without a word": ({ bench, worker }) => worker((each) => bench.world.exit(each.task, { code: 0 })),
  "worker meets a limit": ({ bench, worker }) => worker((each) => bench.world.exit(each.task, { code: 75 })),
  "worker completes and stays": ({ bench, worker }) =>
    worker((each) => word(() => bench.store.complete(each.task, {}, { token: each.token }))),
  "worker asks for a review and stays": ({ bench, worker }) =>
    worker((each) => word(() => bench.store.requestReview(each.task, {}, { token: each.token }))),
  "worker blocks and is unblocked": ({ bench, worker }) =>
    worker((each) =>
      word(async () => {
        await bench.store.block(each.task, { reason: "help" }, { token: each.token });
        await bench.store.unblock(each.task, ME);
      }),
    ),
  "supervisor is killed": ({ worker }) =>
    worker(async (each) => {
      each.supervised = false;
    }),
  "both are killed": ({ worker }) =>
    worker(async (each) => {
      Object.assign(each, { alive: false, supervised: false });
    }),
  "worker cannot be killed": ({ worker }) =>
    worker(async (each) => {
      each.immortal = true;
    }),
  "all can be killed": async ({ bench }) => {
    for (const worker of bench.world.workers) worker.immortal = false;
  },
  "supervisors renew": ({ bench }) => bench.world.beat(),
  "time passes": ({ bench }) => bench.clock.advance(20_000),
  "much time passes": ({ bench }) => bench.clock.advance(1_000_000),
  "clock jumps ahead": async ({ bench }) => bench.clock.jump(3_600_000),
  "clock jumps back": async ({ bench }) => bench.clock.jump(-3_600_000),
  "dispatcher dies": async ({ restart }) => restart(),
  "dispatcher dies after a claim": async ({ bench }) => {
    const [task] = await bench.store.waiting("default");
    if (task !== undefined) await word(() => bench.store.claim(task.id, { by: "dispatcher/dead" }));
  },
  "person takes a run away": async ({ bench, which }) => {
    const run = pick(await bench.store.openRuns("default"), which);
    if (run !== undefined) await bench.store.revoke(run.id, { by: "me", reason: "mine" });
  },
  "launches fail": async ({ bench }) => {
    bench.world.failLaunch = bench.world.failLaunch === null ? "no" : null;
  },
} satisfies Record<string, (history: History) => Promise<unknown>>;

interface History {
  readonly bench: Bench;
  readonly which: number;
  pass(options: { wait?: boolean }): Promise<unknown>;
  second(): Dispatcher;
  restart(): void;
  /** Nobody lives whom a pass would wait for in vain. */
  calm(): boolean;
  worker(action: (worker: ModelWorker) => Promise<unknown>): Promise<unknown>;
}

const names = Object.keys(EVENTS) as (keyof typeof EVENTS)[];
const steps = fc.array(
  fc.tuple(fc.constantFrom<(typeof names)[number]>(...names, "pass", "pass", "new task", "supervisors renew"), fc.nat(20)),
  {
    minLength: STEPS / 2,
    maxLength: STEPS,
  },
);

test(`K18 in ${HISTORIES} random histories, no task ever has two live workers, and none is lost`, async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      await using bench = await openBench();
      bench.settings.failureLimit = 5;
      const life = live(bench);
      for (const [name, which] of history) {
        await EVENTS[name](life(which));
        await bench.clock.advance(0);
        await check(bench);
      }
      await recover(bench);
    }),
    { numRuns: HISTORIES, endOnFailure: true },
  );
}, 300_000);

function live(bench: Bench): (which: number) => History {
  let { dispatcher } = bench;
  let count = 0;
  const fresh = () => {
    count += 1;
    return bench.another(`dispatcher ${count}`);
  };
  let second: Dispatcher | undefined;
  return (which) => ({
    bench,
    which,
    pass: (options) => dispatcher.runOnce("default", options),
    second: () => {
      second ??= fresh();
      return second;
    },
    restart: () => {
      dispatcher = fresh();
    },
    calm: () => !bench.world.workers.some(({ alive, immortal }) => alive && immortal),
    worker: async (action) => {
      const chosen = pick(
        bench.world.workers.filter(({ alive, supervised }) => alive && supervised),
        which,
      );
      if (chosen !== undefined) await action(chosen);
    },
  });
}

async function check({ world, store }: Bench): Promise<void> {
  expect(world.doubles).toEqual([]);
  for (const worker of world.workers) expect(world.living(worker.task).length).toBeLessThanOrEqual(1);
  const open = new Set((await store.openRuns("default")).map(({ task }) => task));
  for (const { id, status } of await store.listTasks()) {
    expect(STATUSES).toContain(status);
    expect([id, open.has(id)]).toEqual([id, status === "running"]);
  }
}

/** When all troubles are over, a dispatcher gets every task going that can go. */
async function recover(bench: Bench): Promise<void> {
  const { world, clock, store } = bench;
  world.failLaunch = null;
  for (const worker of world.workers) worker.immortal = false;
  const last = bench.another("the last");
  for (let round = 0; round < 6; round += 1) {
    await clock.advance(DAY_MS);
    await last.runOnce("default", { wait: true });
    await check(bench);
  }
  expect(await store.check()).toEqual([]);
  expect((await store.counts("default")).ready).toBe(0);
}

function pick<T>(from: readonly T[], which: number): T | undefined {
  return from[which % Math.max(from.length, 1)];
}

/** Refused to a worker that has lost its claim. */
async function word(say: () => Promise<unknown>): Promise<void> {
  await say().catch(() => {});
}
