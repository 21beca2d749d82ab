/** @module What a dispatcher costs while nothing happens. */
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { fillFinished } from "./helpers/fill.ts";
import { openKanbanHome } from "./helpers/kanban-home.ts";
import type { Benchmark } from "./measure.ts";

const SECONDS = 65;
/** Until what comes with the start is over: compiling, the reserve, the first pass. */
const SETTLE_MS = 10_000;
const FINISHED = 100_000;
/** Of the clock in /proc, on every Linux. */
const TICKS_PER_SECOND = 100;
// The 14th and 15th field, counted from the one behind the command.
const [USER, SYSTEM] = [11, 12];

export const benchmark: Benchmark = {
  summary: `processor time of idle \`kanban dispatch --watch\` processes over ${SECONDS} s, which has at least one of their ticks, all side by side`,
  async run() {
    await using stack = new AsyncDisposableStack();
    const pids = new Map<string, number>();
    const open = async (finished: number) => {
      const home = stack.use(await openKanbanHome());
      await fillFinished(home.store, home.database, finished);
      return home;
    };
    const [empty, full, shared] = [await open(0), await open(FINISHED), await open(0)];
    pids.set("an empty board", (await empty.dispatch()).pid);
    pids.set(`${FINISHED.toLocaleString("en")} finished tasks`, (await full.dispatch()).pid);
    pids.set("an empty board, leading before another", (await shared.dispatch()).pid);
    for (const home of [empty, full, shared]) await home.led();
    pids.set("an empty board, waiting behind another", (await shared.dispatch()).pid);
    await pause(SETTLE_MS);
    const before = new Map([...pids].map(([label, pid]) => [label, processorSeconds(pid)]));
    const startedAt = performance.now();
    await pause(SECONDS * 1000);
    const seconds = (performance.now() - startedAt) / 1000;
    const notes = [...pids].map(([label, pid]) => {
      const used = processorSeconds(pid) - (before.get(label) ?? 0);
      return `${label}: ${((used / seconds) * 100).toFixed(2)} % of a core (${Math.round(used * 1000)} ms)`;
    });
    return { timings: [], notes: [...notes, "aim: at most 0.5 % of a core"] };
  },
};

/** Of all its threads, also those that have ended. */
function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[USER]) + Number(fields[SYSTEM])) / TICKS_PER_SECOND;
}
