/** @module Workers as objects that are alive or dead, behind the seam that real ones have. */
import type { Claim } from "../../src/board/claims.ts";
import type { WorkerExit } from "../../src/board/exit.ts";
import type { Run } from "../../src/board/runs.ts";
import type { Store } from "../../src/board/store.ts";
import { DISPATCHER } from "../../src/dispatcher/launcher.ts";
import type { Launcher } from "../../src/dispatcher/worker.ts";

export interface ModelWorker {
  readonly task: string;
  readonly run: number;
  readonly token: string;
  readonly machine: string;
  /** The worker itself, with whatever it has started. */
  alive: boolean;
  supervised: boolean;
  /** Neither TERM nor KILL ends it. */
  immortal: boolean;
}

/** All workers of a world in which several dispatchers live. */
export interface World {
  readonly workers: ModelWorker[];
  readonly living: (task: string) => ModelWorker[];
  readonly of: (task: string) => ModelWorker;
  /** Tasks that had two live workers at once. */
  readonly doubles: string[];
  /** What happened, in order. */
  readonly history: string[];
  /** The worker ends, and its supervisor tells. */
  exit(task: string, exit?: Partial<WorkerExit>): Promise<void>;
  /** The supervisors of all that live renew their claims, and end those who have lost theirs. */
  beat(): Promise<void>;
  /** Endings wait from now on until the returned function is called. */
  hold(): () => void;
  failLaunch: string | null;
}

export function createWorld(store: Store): World & { launcher(machine?: string): Launcher } {
  const workers: ModelWorker[] = [];
  const doubles: string[] = [];
  const history: string[] = [];
  let gate: Promise<void> = Promise.resolve();
  const byRun = (run: number) => workers.find((worker) => worker.run === run);
  const living = (task: string) => workers.filter((worker) => worker.task === task && worker.alive);
  const tell = async (worker: ModelWorker, exit: Partial<WorkerExit>) => {
    worker.alive = false;
    await store.recordExit(worker.run, { code: null, signal: null, reason: "exited", ...exit });
    worker.supervised = false;
  };

  const world: World = {
    workers,
    living,
    doubles,
    history,
    failLaunch: null,
    of(task) {
      const found = workers.findLast((worker) => worker.task === task);
      if (found === undefined) throw new Error(`${task} never had a worker`);
      return found;
    },
    async exit(task, exit = {}) {
      await tell(world.of(task), { code: 0, ...exit });
    },
    async beat() {
      for (const worker of workers.filter(({ alive, supervised }) => alive && supervised)) {
        try {
          await store.heartbeat(worker.task, worker.token);
        } catch {
          // The claim is lost, and so is the worker.
          if (!worker.immortal) await tell(worker, { reason: "claim_lost" });
        }
      }
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
  };

  const launcher = (machine = "here"): Launcher => {
    const starting = new Set<number>();
    return {
      async launch({ task, run, token }: Claim) {
        starting.add(run.id);
        try {
          if (world.failLaunch !== null) throw new Error(world.failLaunch);
          await store.recordWorker(task.id, token, { machine });
          if (living(task.id).length > 0) doubles.push(task.id);
          history.push(`launch ${task.id}`);
          workers.push({ task: task.id, run: run.id, token, machine, alive: true, supervised: true, immortal: false });
        } finally {
          starting.delete(run.id);
        }
      },
      async look(run: Run) {
        if (run.worker === null) return starting.has(run.id) || !run.claimedBy.startsWith(DISPATCHER) ? "alive" : "gone";
        if (run.worker.machine !== machine) return "elsewhere";
        return byRun(run.id)?.supervised === true ? "alive" : "gone";
      },
      async end(run: Run) {
        const worker = byRun(run.id);
        history.push(`end ${run.task}`);
        await gate;
        if (worker === undefined) return;
        if (worker.machine !== machine) throw new Error("it is on another machine");
        if (worker.immortal) throw new Error(`the worker of run ${run.id} does not die`);
        worker.alive = false;
        worker.supervised = false;
        history.push(`dead ${run.task}`);
      },
    };
  };
  return Object.assign(world, { launcher });
}
