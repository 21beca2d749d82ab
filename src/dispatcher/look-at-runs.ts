/** @module Judges the open runs of a board. */
import { RELEASES, type Release } from "../board/failures.ts";
import type { Run } from "../board/runs.ts";
import type { Store } from "../board/store.ts";
import type { OpenRun } from "../board/waiting.ts";
import type { Endings } from "./endings.ts";
import { judge, mayEnd } from "./judge.ts";
import { DISPATCHER } from "./launcher.ts";
import type { DispatchSettings } from "./settings.ts";
import type { Timeline } from "./timeline.ts";
import type { Verdict } from "./verdict.ts";
import type { Launcher } from "./worker.ts";
import type { WorkerLookup } from "./worker-lookup.ts";

/** That long whoever revoked a run by hand has to end its worker; then a dispatcher does. */
const LEFT_TO_PERSON_MS = 30_000;

export interface LookOptions {
  readonly store: Pick<Store, "openRuns" | "events">;
  readonly launcher: Pick<Launcher, "look">;
  readonly endings: Pick<Endings, "isEnding" | "wanted">;
  readonly launching: ReadonlySet<number>;
  readonly board: string;
  readonly settings: DispatchSettings;
  readonly time: Timeline;
  readonly lookup: WorkerLookup;
}

export interface Judged {
  readonly run: OpenRun;
  readonly verdict: Verdict;
  /** False: it is for another machine. */
  readonly ours: boolean;
}

/** Those that must be ended. */
export async function lookAtRuns(options: LookOptions): Promise<Judged[]> {
  const { store, endings, launching, board } = options;
  const runs = await store.openRuns(board);
  const judged = await Promise.all(runs.filter(({ id }) => !launching.has(id) && !endings.isEnding(id)).map((run) => lookAt(run, options)));
  return judged.filter((each) => each !== null);
}

async function lookAt(run: OpenRun, options: LookOptions): Promise<Judged | null> {
  const { launcher, endings, settings, time, lookup } = options;
  const wanted = endings.wanted(run.id);
  const revocation = run.revokedAt === null || wanted !== undefined ? null : await revocationOf(options.store, run);
  // Whoever reclaims a task by hand also ends its worker, and says what becomes of it.
  if (revocation?.byPerson && time.since(run.revokedAt ?? 0) < LEFT_TO_PERSON_MS) return null;
  const found = await lookup(run.profile);
  const facts = {
    time,
    settings,
    seen: await launcher.look(run),
    maxRuntimeMs: "worker" in found ? found.worker.maxRuntimeMs : null,
    revokedFor: revocation?.outcome ?? null,
  };
  const verdict = judge(run, facts);
  if (verdict === null) return null;
  // One that could not be ended is tried again as what it was.
  const again = run.revokedAt === null ? undefined : wanted;
  return { run, verdict: again ?? verdict, ours: mayEnd(run, facts) };
}

interface Revocation {
  readonly byPerson: boolean;
  /** As the dispatcher that revoked it, and is perhaps no more, wanted to release it. */
  readonly outcome: Release | null;
}

async function revocationOf(store: LookOptions["store"], run: Run): Promise<Revocation> {
  const events = await store.events({ task: run.task, run: run.id });
  const event = events.findLast(({ kind }) => kind === "revoked");
  const outcome = RELEASES.find((release) => release === event?.payload.reason) ?? null;
  return { byPerson: event !== undefined && !event.actor.startsWith(DISPATCHER), outcome };
}
