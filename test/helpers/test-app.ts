/** @module Apps over a home that goes away, for operations: that of a person, and those of other processes and workers. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type App, createApp } from "../../src/app/create-app.ts";
import type { Kanban } from "../../src/app/kanban.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { createLogger } from "../../src/base/log.ts";
import type { Claim } from "../../src/board/claims.ts";
import { temporaryDirectory } from "./temporary-directory.ts";

export interface TestApp extends AsyncDisposable {
  readonly app: App;
  /** HOLDFAST_HOME. */
  readonly home: string;
  /** The caller's directory. */
  readonly directory: string;
  readonly warnings: readonly string[];
  /** The app of another process, with these variables besides. */
  open(variables?: Readonly<Record<string, string>>): Promise<App>;
}

export interface TestAppOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Keys of the configuration, as flags. */
  readonly config?: Readonly<Record<string, string>>;
  readonly profiles?: readonly string[];
  readonly clock?: Clock;
}

export interface KanbanApp extends TestApp {
  readonly kanban: Kanban;
  /** Takes a task as a dispatcher does, and gives the app that its worker has. */
  work(task: string, variables?: Readonly<Record<string, string>>): Promise<{ app: App; claim: Claim }>;
}

export async function createTestApp({ env = {}, config = {}, profiles = [], clock = systemClock }: TestAppOptions = {}): Promise<TestApp> {
  const root = await temporaryDirectory();
  const [home, user] = [join(root.path, "home"), join(root.path, "user")];
  await Promise.all([home, user].map((path) => mkdir(path)));
  const warnings: string[] = [];
  const log = createLogger({ clock, level: "warn", sink: ({ message }) => void warnings.push(message) });
  const flags = Object.entries(config).map(([key, value]) => ({ name: "-c", key, value }));
  const opened: App[] = [];
  const open: TestApp["open"] = async (variables = {}) => {
    const environment = { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: user, HOLDFAST_HOME: home, ...env, ...variables };
    const app = await createApp({ environment, cwd: root.path, flags, log, clock });
    opened.push(app);
    return app;
  };
  const app = await open();
  for (const name of profiles) await app.profiles.create(name);
  return {
    app,
    home,
    directory: root.path,
    warnings,
    open,
    async [Symbol.asyncDispose]() {
      for (const each of opened) await each.close();
      await root[Symbol.asyncDispose]();
    },
  };
}

export async function createKanbanApp(options?: TestAppOptions): Promise<KanbanApp> {
  const made = await createTestApp(options);
  const kanban = await made.app.kanban();
  return {
    ...made,
    kanban,
    async work(task, variables = {}) {
      const claim = await kanban.store.claim(task, { by: "dispatcher" });
      const identity = { HOLDFAST_TASK: task, HOLDFAST_RUN_TOKEN: claim.token, HOLDFAST_BOARD: claim.task.board };
      return { app: await made.open({ ...identity, ...variables }), claim };
    },
  };
}
