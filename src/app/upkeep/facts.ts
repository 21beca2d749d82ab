/** @module Gathers what the rules of `diagnostics` look at. */
import { stat } from "node:fs/promises";
import { isUrl } from "../../board/location.ts";
import type { Store } from "../../board/store.ts";
import type { Task } from "../../board/task.ts";
import { UNFINISHED } from "../../board/transitions.ts";
import { readSettings } from "../../dispatcher/settings.ts";
import type { App } from "../create-app.ts";
import type { BoardFacts } from "./diagnostic.ts";
import { profileWorkers } from "./profile-workers.ts";

export async function boardFacts(app: App, board: string): Promise<BoardFacts> {
  const { store, options } = await app.kanban();
  const now = app.clock.now();
  const tasks = await store.listTasks({ board, status: UNFINISHED });
  const leader = await store.leader(board);
  return {
    now,
    board,
    dispatched: leader !== null && leader.expiresAt > now,
    tasks,
    blockedSince: new Map(await Promise.all(tasks.filter(isBlocked).map((task) => blockedSince(store, task)))),
    openRuns: await store.runs({ board, open: true }),
    profiles: await profileWorkers(app),
    running: { here: await store.running(board), everywhere: await store.running() },
    settings: readSettings(options),
    faults: await store.check(),
    walBytes: await sizeOf(store.location),
  };
}

function isBlocked({ status }: Task): boolean {
  return status === "blocked";
}

/** Whoever blocks a task leaves a run, unless it was made that way. */
async function blockedSince(store: Store, { id, createdAt }: Task): Promise<[string, number]> {
  const runs = await store.runs({ task: id });
  return [id, runs.at(-1)?.endedAt ?? createdAt];
}

async function sizeOf(location: string): Promise<number> {
  if (isUrl(location)) return 0;
  const found = await stat(`${location}-wal`).catch(() => null);
  return found?.size ?? 0;
}
