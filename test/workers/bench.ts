/** @module A board, a launcher and real supervisors in a directory of their own. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { findTree } from "../../src/base/process-tree.ts";
import type { Claim } from "../../src/board/claims.ts";
import { exitOf, type WorkerExit } from "../../src/board/exit.ts";
import { type BoardFiles, boardFiles } from "../../src/board/files.ts";
import type { Run } from "../../src/board/runs.ts";
import { openStore, type Store } from "../../src/board/store.ts";
import { MARK } from "../../src/dispatcher/job.ts";
import { createLauncher, DISPATCHER, recordOf } from "../../src/dispatcher/launcher.ts";
import { kanbanOptions } from "../../src/dispatcher/options.ts";
import { currentPlace } from "../../src/dispatcher/place.ts";
import { type DispatchSettings, type KanbanValues, readSettings } from "../../src/dispatcher/settings.ts";
import { createSupervisors } from "../../src/dispatcher/supervisors.ts";
import type { Launcher, WorkerSettings } from "../../src/dispatcher/worker.ts";
import { PROGRAM } from "../helpers/cli.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { workerSettings } from "../helpers/worker-settings.ts";

export const SUPERVISOR = [process.execPath, PROGRAM, "__supervise"];
export const PATH = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "/" };

export interface WorkerBench extends AsyncDisposable {
  readonly home: string;
  readonly workspace: string;
  readonly store: Store;
  readonly files: BoardFiles;
  readonly launcher: Launcher;
  /** A run of a shell script. */
  start(script: string, options?: StartOptions): Promise<Claim>;
  run(claim: Claim): Promise<Run>;
  /** How its worker ended, when it has. */
  exit(claim: Claim): Promise<WorkerExit>;
  /** The processes of the run, the supervisor included. */
  alive(claim: Claim): Promise<number[]>;
}

interface StartOptions {
  readonly command?: readonly string[];
  readonly worker?: Partial<WorkerSettings>;
  readonly settings?: Partial<DispatchSettings>;
  readonly env?: Readonly<Record<string, string>>;
  readonly workspace?: string;
}

export function defaultSettings(): DispatchSettings {
  const values = Object.fromEntries(Object.entries(kanbanOptions).map(([name, { default: value }]) => [name, value]));
  return readSettings(values as unknown as KanbanValues).settings;
}

export async function openWorkerBench(): Promise<WorkerBench> {
  const directory = await temporaryDirectory();
  const home = directory.path;
  const files = boardFiles(home);
  const workspace = join(home, "work");
  await mkdir(workspace);
  await mkdir(files.root, { recursive: true });
  const store = await openStore(files.database);
  const supervisors = createSupervisors({
    program: SUPERVISOR,
    env: { ...PATH, HOLDFAST_HOME: home },
    directory: files.root,
    reserve: false,
  });
  let env: Readonly<Record<string, string>> = {};
  const launcher = createLauncher({
    store,
    files,
    home,
    database: files.database,
    place: currentPlace("bench"),
    supervisors,
    workerEnv: async () => ({ ...PATH, ...env }),
    reachOf: async () => null,
    endInSandbox: async () => {},
    onEnd: () => {},
    clock: systemClock,
  });
  const claims: Claim[] = [];
  const run = async ({ run: { id }, task }: Claim) => {
    const found = (await store.runs({ task: task.id })).find((each) => each.id === id);
    if (found === undefined) throw new Error(`run ${id} is gone`);
    return found;
  };
  return {
    home,
    workspace,
    store,
    files,
    launcher,
    run,
    async start(script, { command = ["sh", "-c", script], worker, settings, env: own = {}, workspace: path = workspace } = {}) {
      const { task } = await store.createTask({ title: "work", assignee: "coder" }, { by: "test" });
      const full = { ...defaultSettings(), graceMs: 500, ...settings };
      const claim = await store.claim(task.id, { by: `${DISPATCHER}test`, ttlMs: full.claimTtlMs });
      claims.push(claim);
      env = own;
      await launcher.launch(claim, {
        worker: workerSettings(command, worker),
        workspace: { kind: "scratch", path, branch: null },
        settings: full,
      });
      return claim;
    },
    async exit(claim) {
      for (;;) {
        const exit = exitOf(await run(claim));
        if (exit !== null) return exit;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async alive(claim) {
      const mark = recordOf(await run(claim))?.mark;
      return mark === undefined ? [] : findTree({ variable: MARK, value: mark }).map(({ pid }) => pid);
    },
    async [Symbol.asyncDispose]() {
      for (const claim of claims) await launcher.end(await run(claim), { graceMs: 0 });
      supervisors.close();
      await store[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}
