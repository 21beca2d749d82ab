/** @module Workers in sandboxes: a board, a launcher and real supervisors, on whatever backend the variables say. All of it goes with the test. */

import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type App, createApp } from "../../src/app/create-app.ts";
import { reachOf } from "../../src/app/sandbox-reach.ts";
import { endRunInSandbox } from "../../src/app/sandbox-worker.ts";
import { workerVariables } from "../../src/app/worker-environment.ts";
import { systemClock } from "../../src/base/clock.ts";
import type { Claim } from "../../src/board/claims.ts";
import { exitOf, type WorkerExit } from "../../src/board/exit.ts";
import { boardFiles } from "../../src/board/files.ts";
import type { Run } from "../../src/board/runs.ts";
import { openStore, type Store } from "../../src/board/store.ts";
import { createLauncher, DISPATCHER } from "../../src/dispatcher/launcher.ts";
import { currentPlace } from "../../src/dispatcher/place.ts";
import { createSupervisors } from "../../src/dispatcher/supervisors.ts";
import type { Launcher, WorkerSettings } from "../../src/dispatcher/worker.ts";
import { COMPILE_CACHE } from "../helpers/cli.ts";
import type { TestEngine } from "../helpers/engine.ts";
import { engineVariables } from "../helpers/engine-harness.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { workerSettings } from "../helpers/worker-settings.ts";
import { defaultSettings, SUPERVISOR } from "./bench.ts";

export const LONG = 240_000;
const WAIT_MS = 100_000;

interface StartOptions {
  readonly sandbox?: WorkerSettings["sandbox"];
  readonly task?: Partial<Parameters<Store["createTask"]>[0]>;
  /** A further run of this task. */
  readonly again?: string;
  readonly workspace?: string;
  readonly graceMs?: number;
  readonly images?: readonly string[];
}

export interface SandboxBench {
  readonly home: string;
  readonly store: Store;
  readonly launcher: Launcher;
  /** As the dispatcher has it. */
  readonly app: App;
  /** What another process has that was started with these variables. */
  open(variables: Readonly<Record<string, string | undefined>>): Promise<App>;
  /** Of a task, made if need be. */
  workspace(task: string): Promise<string>;
  start(script: string, options?: StartOptions): Promise<Claim>;
  run(claim: Claim): Promise<Run>;
  exit(claim: Claim): Promise<WorkerExit>;
  /** Resolves when its supervisor has ended, which tells no exit of a run that has ended with a word. */
  over(claim: Claim): Promise<void>;
  /** Ends the run as the dispatcher does, so that there can be another one. */
  release(claim: Claim): Promise<void>;
  /** What its workers have printed. */
  log(claim: Claim): Promise<string>;
  untilLogged(claim: Claim, text: string): Promise<string>;
}

/** The database, as this process and as supervisors and workers reach it. @default the file of a board */
interface Databases {
  readonly here: string;
  readonly there: string;
}

export async function sandboxBench(
  engine: TestEngine | null,
  variables: Readonly<Record<string, string>> = {},
  databases?: Databases,
): Promise<SandboxBench> {
  const directory = await temporaryDirectory();
  const home = join(directory.path, "home");
  const bin = join(directory.path, "bin");
  const userHome = join(directory.path, "user");
  const files = boardFiles(home);
  for (const path of [bin, userHome, files.root]) await mkdir(path, { recursive: true });
  const [node = "", program = ""] = SUPERVISOR;
  await writeFile(join(bin, "holdfast"), `#!/bin/sh\nexec '${node}' '${program}' "$@"\n`);
  await chmod(join(bin, "holdfast"), 0o755);
  const environment = {
    PATH: process.env.PATH ?? "",
    HOME: userHome,
    HOLDFAST_HOME: home,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    ...(engine !== null && engineVariables(engine)),
    ...variables,
  };
  const store = await openStore(databases?.here ?? files.database);
  const app = await createApp({ environment, cwd: directory.path, program: "the test" });
  const supervisors = createSupervisors({ program: SUPERVISOR, env: environment, directory: files.root, reserve: false });
  const launcher = createLauncher({
    store,
    files,
    home,
    database: databases?.there ?? files.database,
    place: currentPlace("bench"),
    supervisors,
    workerEnv: async (claim, launch) => ({
      ...workerVariables({ claim, launch, home, database: databases?.there ?? null, bin, environment, dotenv: {}, images }),
      HOLDFAST_BIN: bin,
    }),
    reachOf: (claim, launch) => reachOf(app, claim, launch),
    endInSandbox: (run, record, options) => endRunInSandbox(app, run, record, options),
    onEnd: () => {},
    clock: systemClock,
  });
  let images: readonly string[] = [];
  const claims: Claim[] = [];
  const run: SandboxBench["run"] = async ({ run: { id }, task }) => {
    const found = (await store.runs({ task: task.id })).find((each) => each.id === id);
    if (found === undefined) throw new Error(`run ${id} is gone`);
    return found;
  };
  onTestFinished(async () => {
    for (const claim of claims) await launcher.end(await run(claim), { graceMs: 0 });
    supervisors.close();
    await app.close();
    await store[Symbol.asyncDispose]();
    await removeSandboxes(app, engine);
    await directory[Symbol.asyncDispose]();
  }, LONG);
  const workspace: SandboxBench["workspace"] = async (task) => {
    const path = files.workspace("default", task);
    await mkdir(path, { recursive: true });
    return path;
  };
  const until = async <T>(claim: Claim, look: () => Promise<T | null>): Promise<T> => {
    const limit = systemClock.monotonic() + WAIT_MS;
    for (;;) {
      const found = await look();
      if (found !== null) return found;
      if (systemClock.monotonic() > limit)
        throw new Error(`in vain: ${await log(claim)}\n${await readFile(join(files.root, "supervisors.log"), "utf8")}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const log = ({ task }: Claim) => readFile(files.log("default", task.id), "utf8").catch(() => "");
  return {
    home,
    store,
    launcher,
    app,
    async open(changed) {
      const other = await createApp({ environment: { ...environment, ...changed }, cwd: directory.path, program: "the test" });
      onTestFinished(async () => void (await other.close()));
      return other;
    },
    workspace,
    run,
    async start(script, { sandbox = "task", task: fields = {}, again, workspace: path, graceMs = 2000, images: seen = [] } = {}) {
      const id = again ?? (await store.createTask({ title: "work", assignee: "default", ...fields }, { by: "test" })).task.id;
      const settings = { ...defaultSettings(), graceMs };
      const claim = await store.claim(id, { by: `${DISPATCHER}test`, ttlMs: settings.claimTtlMs });
      claims.push(claim);
      images = seen;
      await launcher.launch(claim, {
        worker: workerSettings(["sh", "-c", script], { sandbox }),
        workspace: { kind: "scratch", path: path ?? (await workspace(id)), branch: null },
        settings,
      });
      return claim;
    },
    exit: (claim) => until(claim, async () => exitOf(await run(claim))),
    over: (claim) => until(claim, async () => ((await launcher.look(await run(claim))) === "gone" ? undefined : null)),
    release: async ({ run: { id } }) => void (await store.release(id, { by: "test", outcome: "reclaimed" })),
    log,
    untilLogged: (claim, text) =>
      until(claim, async () => {
        const logged = await log(claim);
        if (logged.includes(text)) return logged;
        const exit = exitOf(await run(claim));
        if (exit !== null) throw new Error(`ended (${JSON.stringify(exit)}) without printing ${text}: ${logged}`);
        return null;
      }),
  };
}

async function removeSandboxes(app: App, engine: TestEngine | null): Promise<void> {
  const driver = await app.driver();
  const { install } = await app.owner("default");
  for (const ref of await driver.list({ install })) await driver.destroy(ref, { purge: true });
  const left = engine === null ? [] : await engine.containers(`holdfast-install=${install}`);
  if (engine !== null && left.length > 0) await engine.run(["rm", "-f", "-v", ...left.map(({ id }) => id)]);
}
