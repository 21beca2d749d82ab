/** @module One pass of a dispatcher over a large board on which nothing can be started. */
import { openDispatching } from "../src/app/dispatching.ts";
import { fillFinished } from "./helpers/fill.ts";
import { BOARD } from "./helpers/kanban-home.ts";
import { openWaitingBoard } from "./helpers/waiting-board.ts";
import { type Benchmark, measure, timingOf } from "./measure.ts";

const FINISHED = 100_000;
const WAITING = 1000;
const ROUNDS = 200;
const PASS = "a pass";

export const benchmark: Benchmark = {
  summary: `a pass over ${FINISHED.toLocaleString("en")} finished tasks and ${WAITING.toLocaleString("en")} that are ready, of nobody or capped, against reading them`,
  async run() {
    await using home = await openWaitingBoard(WAITING);
    const { app, store, database } = home;
    await fillFinished(store, database, FINISHED);
    const dispatching = await openDispatching(app, { stays: false });
    try {
      const timings = await measure(
        [
          { label: "the tasks that wait, read from the board", run: () => store.waiting(BOARD) },
          { label: PASS, run: () => checkedPass(dispatching.dispatcher.runOnce(BOARD)) },
          { label: "when something is due, as after each pass", run: () => store.nextTime(BOARD) },
        ],
        { rounds: ROUNDS, warmups: 20 },
      );
      return { timings, notes: [`aim: a pass in at most 10 ms: ${timingOf(timings, PASS).p50.toFixed(1)}`] };
    } finally {
      await dispatching.close();
    }
  },
};

/** A pass that did anything else would measure something else. */
async function checkedPass(pass: ReturnType<Awaited<ReturnType<typeof openDispatching>>["dispatcher"]["runOnce"]>): Promise<void> {
  const { skipped_unassigned: nobody, skipped_capped: capped, spawned } = await pass;
  if (nobody.length !== WAITING / 2 || capped.length !== WAITING / 2 || spawned.length > 0)
    throw new Error(`the pass left ${nobody.length} of nobody and ${capped.length} capped, and started ${spawned.length}`);
}
