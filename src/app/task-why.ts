/** @module Asks everything that `why` depends on, each thing once however many tasks are explained. */
import { describeError } from "../base/errors.ts";
import type { Task } from "../board/task.ts";
import { isFinished } from "../board/transitions.ts";
import { loadConfig } from "../config/load.ts";
import { readSettings } from "../dispatcher/settings.ts";
import { distrustOf } from "../dispatcher/trust.ts";
import { type ProfileFacts, pickupProblems, type Why, type WhyInput, whyNotRunning } from "../dispatcher/why.ts";
import type { App } from "./create-app.ts";
import { createProfileConfigs, workerSettings } from "./worker-directory.ts";

export interface Explainer {
  /** Why it does not run. */
  why(task: Task): Promise<Why[]>;
  /** Why nobody would take it if it were free (K34). */
  pickup(task: Task): Promise<Why[]>;
}

export async function createExplainer(app: App): Promise<Explainer> {
  const { store, options } = await app.kanban();
  const { settings } = readSettings(options);
  const everywhere = await store.running();
  const ofBoard = remember(async (board: string) => ({
    running: await store.running(board),
    leader: await store.leader(board),
    archived: (await store.getBoard(board)).archivedAt !== null,
  }));
  const openRuns = remember(async (board: string) => new Map((await store.openRuns(board)).map((run) => [run.task, run])));
  const profiles = remember((name: string) => profileFacts(app, name));
  const workers = createProfileConfigs(app);
  const distrust = async (task: Task, profile: ProfileFacts | null) => {
    if (profile?.state !== "spawnable" || (task.workspace === "scratch" && !task.fromSandbox)) return null;
    const worker = await workers.settingsOf(profile.name).catch(() => null);
    return worker && distrustOf(task, { profile: profile.name, worker }, { store, workers });
  };

  const inputFor = async (task: Task): Promise<WhyInput> => {
    const { running, leader, archived } = await ofBoard(task.board);
    const worker = task.assignee ?? settings.defaultAssignee;
    const profile = worker === null ? null : await profiles(worker);
    const parents = task.status === "todo" ? await store.parents(task.id) : [];
    return {
      facts: {
        task,
        unfinishedParents: parents.filter(({ status }) => !isFinished(status)).map(({ id, title, status }) => ({ id, title, status })),
        leader,
        // One that never ran has none.
        lastRun:
          task.startedAt === null || task.status === "running" || isFinished(task.status)
            ? null
            : ((await store.runs({ task: task.id })).at(-1) ?? null),
        openRun: task.status === "running" ? ((await openRuns(task.board)).get(task.id) ?? null) : null,
      },
      now: app.clock.now(),
      settings,
      running: { everywhere, board: running },
      boardArchived: archived,
      profile,
      distrust: await distrust(task, profile),
    };
  };
  return {
    why: async (task) => whyNotRunning(await inputFor(task)),
    pickup: async (task) => pickupProblems(await inputFor(task)),
  };
}

async function profileFacts(app: App, name: string): Promise<ProfileFacts> {
  const found = (await app.profiles.list()).find((profile) => profile.name === name);
  if (found === undefined) return { name, state: "missing" };
  try {
    // As the dispatcher reads it: what keeps it from starting a worker shall be told here.
    const { command } = workerSettings(await loadConfig({ home: found.home, environment: app.environment, flags: [] }));
    return { name, state: command.length === 0 ? "not-spawnable" : "spawnable" };
  } catch (error) {
    return { name, state: "unreadable", error: describeError(error) };
  }
}

function remember<Value>(ask: (key: string) => Promise<Value>): (key: string) => Promise<Value> {
  const known = new Map<string, Promise<Value>>();
  return (key) => {
    const value = known.get(key) ?? ask(key);
    known.set(key, value);
    return value;
  };
}
