/**
 * @module Workers of runs that have ended by their own word. One may outlive both that word and its supervisor, and then nobody else would
 * end it (K18).
 */
import type { BoardEvent, EventKind } from "../board/events.ts";
import type { Run } from "../board/runs.ts";
import type { Store } from "../board/store.ts";
import { isKnownDead } from "./predecessors.ts";
import type { Launcher } from "./worker.ts";

/** The last words of workers, and what ends a task without one. */
const ENDS: ReadonlySet<EventKind> = new Set(["completed", "blocked", "waiting", "review_requested", "changes_requested", "archived"]);
/** So many events are looked at, for workers that outlived whoever dispatched before. */
const LOOK_BACK = 1000;

/** Tasks whose run or that have themselves ended, each as often as that happened. */
export function endedIn(events: readonly BoardEvent[]): string[] {
  return events.flatMap(({ kind, task }) => (ENDS.has(kind) && task !== null ? [task] : []));
}

/** Tasks that ended not long ago, as of the event `last`. */
export async function recentlyEnded(
  store: Pick<Store, "events">,
  { last, board }: { last: number; board?: string },
): Promise<ReadonlySet<string>> {
  const since = Math.max(0, last - LOOK_BACK);
  return new Set(endedIn(await store.events({ since, limit: LOOK_BACK, ...(board !== undefined && { board }) })));
}

/** Its worker, of which nobody has said that it is dead. */
export function mayLive(run: Run): boolean {
  return run.endedAt !== null && run.worker !== null && !isKnownDead(run);
}

/**
 * Ends those that have outlived their supervisor.
 * @returns false when one is left to its supervisor, which gives it a while; in that it may still write the last of its files
 */
export async function endLeft(
  launcher: Pick<Launcher, "look" | "end">,
  runs: readonly Run[],
  graceMs: () => Promise<number>,
  onEnded: (run: Run) => Promise<unknown> = async () => {},
): Promise<boolean> {
  let noneAlive = true;
  for (const run of runs) {
    const seen = await launcher.look(run);
    if (seen === "alive") noneAlive = false;
    if (seen !== "gone") continue;
    await launcher.end(run, { graceMs: await graceMs() });
    await onEnded(run);
  }
  return noneAlive;
}
