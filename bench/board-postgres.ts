/** @module What the board costs in PostgreSQL when several dispatchers share it, each a process of its own. */
import { openStore, type Store } from "../src/board/store.ts";
import { testPostgres } from "../test/helpers/postgres.ts";
import { openStoreProcesses, type StoreProcesses } from "./helpers/store-processes.ts";
import { type Benchmark, percentile } from "./measure.ts";

const PROCESSES = 8;
const TASKS = 4000;
const ROUNDS = 5;
const BY = { by: "bench" };

export const benchmark: Benchmark = {
  summary: `${PROCESSES} processes that take the tasks of one board in PostgreSQL, which does not sync its disk`,
  async run() {
    await using server = await testPostgres();
    const url = await server.createDatabase();
    await using store = await openStore(url);
    await using processes = await openStoreProcesses(url, PROCESSES);
    const rates: Rates[] = [];
    for (let round = 0; round <= ROUNDS; round += 1) rates.push(await workRound(processes, { store, board: `round-${round}` }));
    // The first one is for the processes to get going.
    rates.shift();
    return {
      timings: [],
      notes: [
        ...(["created", "claimed", "completed"] as const).map((kind) => describe(kind, rates)),
        `aim: at least 2,000 claimed, on a quiet machine; no task was claimed twice in ${(TASKS * (ROUNDS + 1)).toLocaleString("en")}`,
      ],
    };
  },
};

type Rates = Readonly<Record<"created" | "claimed" | "completed", number>>;

async function workRound(processes: StoreProcesses, { store, board }: { store: Store; board: string }): Promise<Rates> {
  await store.createBoard(board, BY);
  const created = await processes.all(`create ${board} ${TASKS / PROCESSES}`);
  const claimed = await processes.all(`claim ${board}`);
  await checkClaims(claimed.answers.flat(), { store, board });
  const completed = await processes.all("complete");
  return { created: TASKS / created.seconds, claimed: TASKS / claimed.seconds, completed: TASKS / completed.seconds };
}

/** By what the processes got, and by what the board says. */
async function checkClaims(taken: readonly string[], { store, board }: { store: Store; board: string }): Promise<void> {
  const runs = await store.runs({ board });
  const [got, ran] = [new Set(taken), new Set(runs.map(({ task }) => task))];
  if (taken.length !== TASKS || got.size !== TASKS) throw new Error(`of ${TASKS} tasks ${got.size} were claimed, ${taken.length} times`);
  if (runs.length !== TASKS || ran.size !== TASKS) throw new Error(`${ran.size} tasks have ${runs.length} runs`);
}

function describe(kind: keyof Rates, rates: readonly Rates[]): string {
  const values = rates.map((each) => each[kind]);
  const inWords = (value: number) => Math.round(value).toLocaleString("en");
  return `${kind} per second: ${inWords(percentile(values, 50))} (${inWords(Math.min(...values))} to ${inWords(Math.max(...values))})`;
}
