/** @module Why a task does not run: every reason with its data, in words, and with what can be done about it (K12). */
import { firstAndLastLine } from "../base/first-line.ts";
import { driftInWords, driftOf, type SandboxDrift } from "../board/drift.ts";
import type { WhyFacts } from "../board/read-tasks.ts";
import type { Run } from "../board/runs.ts";
import type { BlockKind } from "../board/schema.ts";
import type { Task } from "../board/task.ts";
import { blockFix, blockInWords } from "./block-words.ts";
import { guardInWords } from "./guard-words.ts";
import type { GuardReason } from "./result.ts";
import { type RunTrouble, troubleInWords, troubleOf } from "./run-trouble.ts";
import type { DispatchSettings } from "./settings.ts";
import type { Distrust } from "./trust.ts";

const AFTER_FAILURE: GuardReason = "retry_backoff";

export type Cap = "max_in_progress_per_profile" | "max_in_progress" | "max_spawn";

export type Reason =
  | RunTrouble
  | { readonly kind: "triage" }
  | { readonly kind: "waiting"; readonly parents: readonly Pick<Task, "id" | "title" | "status">[] }
  | { readonly kind: "scheduled"; readonly until: number }
  | { readonly kind: "blocked"; readonly by: string; readonly reason: string | null; readonly blockKind: BlockKind | null }
  /** Of the last run, in a sandbox that is still there with the settings it was made with. */
  | { readonly kind: "drifted"; readonly run: number; readonly profile: string; readonly drift: SandboxDrift }
  | { readonly kind: "review"; readonly reviewer: string | null; readonly implementer: string | null }
  | { readonly kind: "reviews-off" }
  | { readonly kind: "board-archived"; readonly board: string }
  | { readonly kind: "unassigned" }
  | { readonly kind: "profile-missing"; readonly profile: string; readonly byDefault: boolean }
  | { readonly kind: "profile-unreadable"; readonly profile: string; readonly error: string }
  | { readonly kind: "profile-not-spawnable"; readonly profile: string }
  | { readonly kind: "profile-not-dispatched"; readonly profile: string }
  | { readonly kind: "from-sandbox"; readonly profile: string }
  /** `of`: the task in whose sandbox somebody could write there. */
  | { readonly kind: "sandbox-directory" | "sandbox-repository"; readonly profile: string; readonly path: string; readonly of: string }
  /** `error`: of the failure after which it rests. */
  | { readonly kind: "guarded"; readonly reason: string; readonly until: number; readonly error: string | null }
  | {
      readonly kind: "capped";
      readonly cap: Cap;
      readonly limit: number;
      readonly running: number;
      /** Who has them. */
      readonly profiles: Readonly<Record<string, number>>;
    }
  /** `since`: when the last one was known to be gone; null when there never was one. */
  | { readonly kind: "no-dispatcher"; readonly board: string; readonly since: number | null };

export type Why = Reason & { readonly text: string; readonly fix: string | null };

/** What is known of whoever would work on a task. */
export type ProfileFacts =
  | { readonly name: string; readonly state: "spawnable" | "not-spawnable" | "missing" }
  | { readonly name: string; readonly state: "unreadable"; readonly error: string };

export interface WhyInput {
  /** `openRun` only of a task that counts as running. */
  readonly facts: Pick<WhyFacts, "task" | "unfinishedParents" | "leader"> &
    Partial<Pick<WhyFacts, "openRun">> & {
      /** Of a task that does not run now. */
      readonly lastRun?: Pick<Run, "id" | "profile" | "worker"> | null;
    };
  readonly now: number;
  readonly settings: Pick<DispatchSettings, "defaultAssignee" | "maxPerProfile" | "maxInProgress" | "maxSpawn" | "reviews" | "profiles">;
  /** How many tasks run for each profile. */
  readonly running: { readonly everywhere: Readonly<Record<string, number>>; readonly board: Readonly<Record<string, number>> };
  readonly boardArchived: boolean;
  /** Of the assignee, or of `kanban.default_assignee` for a task of nobody; null when there is neither. */
  readonly profile: ProfileFacts | null;
  /** Why its workers must not get the task. */
  readonly distrust?: Distrust | null;
}

/** The weightiest first. None for a task that really runs or is finished, and for one that the dispatcher is about to take. */
export function whyNotRunning(input: WhyInput): Why[] {
  const { status } = input.facts.task;
  if (status === "running") return stuck(input).map((reason) => inWords(reason, input.facts.task.id));
  if (status === "done" || status === "archived") return [];
  const archived: Reason[] = input.boardArchived ? [{ kind: "board-archived", board: input.facts.task.board }] : [];
  const free: Reason[] = status === "ready" || status === "review" ? [...pickup(input), ...queue(input)] : [];
  return [...archived, ...ownReasons(input), ...free, ...drifted(input)].map((reason) => inWords(reason, input.facts.task.id));
}

/** Why nobody would take it even if it were free: what a person who makes a task should hear (K34). */
export function pickupProblems(input: WhyInput): Why[] {
  return pickup(input).map((reason) => inWords(reason, input.facts.task.id));
}

/** For one that counts as running, and whose worker does not work. */
function stuck({ facts: { task, openRun, leader }, now }: WhyInput): Reason[] {
  const trouble = openRun ? troubleOf(openRun) : null;
  return trouble === null ? [] : [trouble, ...dispatcherReason(task.board, leader, now)];
}

/** Those that come from the task's own status. */
function ownReasons({ facts: { task, unfinishedParents, leader }, now }: WhyInput): Reason[] {
  switch (task.status) {
    case "triage":
      return [{ kind: "triage" }];
    case "todo":
      return [{ kind: "waiting", parents: unfinishedParents }];
    case "scheduled":
      // Only a dispatcher wakes it.
      return [{ kind: "scheduled", until: task.scheduledFor ?? now }, ...dispatcherReason(task.board, leader, now)];
    case "blocked": {
      const { by = "", reason = null, kind = null } = task.blocked ?? {};
      return [{ kind: "blocked", by, reason, blockKind: kind }];
    }
    case "review":
      return [{ kind: "review", reviewer: task.assignee, implementer: task.implementer }];
    default:
      return [];
  }
}

/** Whether there is anybody who would take it. */
function pickup({ facts: { task, leader }, now, settings, profile, distrust = null }: WhyInput): Reason[] {
  const reasons: Reason[] = [];
  if (profile === null) reasons.push({ kind: "unassigned" });
  else if (profile.state === "missing") reasons.push({ kind: "profile-missing", profile: profile.name, byDefault: task.assignee === null });
  else if (profile.state === "unreadable") reasons.push({ kind: "profile-unreadable", profile: profile.name, error: profile.error });
  else if (profile.state === "not-spawnable") reasons.push({ kind: "profile-not-spawnable", profile: profile.name });
  else if (settings.profiles !== null && !settings.profiles.includes(profile.name))
    reasons.push({ kind: "profile-not-dispatched", profile: profile.name });
  else if (distrust !== null) reasons.push(distrustReason(distrust, profile.name));
  if (task.status === "review" && !settings.reviews) reasons.push({ kind: "reviews-off" });
  return [...reasons, ...dispatcherReason(task.board, leader, now)];
}

function distrustReason(distrust: Distrust, profile: string): Reason {
  if (distrust.reason === "from_sandbox") return { kind: "from-sandbox", profile };
  const kind = distrust.reason === "sandbox_directory" ? "sandbox-directory" : "sandbox-repository";
  return { kind, profile, path: distrust.path, of: distrust.task };
}

/** What it waits for although somebody would take it. */
function queue({ facts: { task }, now, settings, running, profile }: WhyInput): Reason[] {
  const reasons: Reason[] = [];
  if (task.guard !== null && task.guard.until > now) {
    reasons.push({ kind: "guarded", ...task.guard, error: task.guard.reason === AFTER_FAILURE ? task.lastError : null });
  }
  const cap = (name: Cap, limit: number | null, profiles: Readonly<Record<string, number>>) => {
    const count = Object.values(profiles).reduce((sum, each) => sum + each, 0);
    if (limit !== null && count >= limit) reasons.push({ kind: "capped", cap: name, limit, running: count, profiles });
  };
  const own = profile === null ? {} : { [profile.name]: running.everywhere[profile.name] ?? 0 };
  cap("max_in_progress_per_profile", settings.maxPerProfile, own);
  cap("max_spawn", settings.maxSpawn, running.board);
  cap("max_in_progress", settings.maxInProgress, running.everywhere);
  return reasons;
}

/** No reason why it waits, but what whoever looks into it should know before its next run. */
function drifted({ facts: { lastRun } }: WhyInput): Reason[] {
  const drift = lastRun ? driftOf(lastRun) : null;
  return lastRun && drift && !drift.replaced ? [{ kind: "drifted", run: lastRun.id, profile: lastRun.profile, drift }] : [];
}

function dispatcherReason(board: string, leader: WhyFacts["leader"], now: number): Reason[] {
  if (leader !== null && leader.expiresAt > now) return [];
  // A leader that has resigned leaves no time.
  return [{ kind: "no-dispatcher", board, since: leader === null || leader.expiresAt === 0 ? null : leader.expiresAt }];
}

function inWords(reason: Reason, id: string): Why {
  const [text, fix] = words(reason, id);
  return { ...reason, text, fix };
}

function words(reason: Reason, id: string): [text: string, fix: string | null] {
  switch (reason.kind) {
    case "worker-ended":
    case "being-ended":
      return troubleInWords(reason, id);
    case "triage":
      return ["it is in triage, a rough idea that nobody works on yet", `holdfast kanban promote ${id}`];
    case "waiting": {
      const parents = reason.parents.map(({ id, status }) => `${id} (${status})`);
      return [parents.length === 0 ? "it goes on at the next pass of the dispatcher" : `it waits for ${parents.join(", ")}`, null];
    }
    case "scheduled":
      return [`it is scheduled for ${time(reason.until)}`, `holdfast kanban unblock ${id}`];
    case "blocked":
      return [`it is blocked ${blockInWords(reason)}`, blockFix(id, reason.blockKind)];
    case "drifted":
      return [
        `run ${reason.run} did not have all settings that are configured: ${driftInWords(reason.drift)}`,
        `holdfast sandbox reset ${reason.drift.sandbox} -p ${reason.profile}, unless that was done since`,
      ];
    case "review":
      return [`it waits for a review by ${reason.reviewer ?? "somebody"}`, null];
    case "reviews-off":
      return ["no worker is started for a review", "holdfast config set -p default kanban.review_dispatch true"];
    case "board-archived":
      return [`the board ${reason.board} is archived`, null];
    case "unassigned":
      return [
        "it has no assignee, and kanban.default_assignee is not set",
        `holdfast kanban assign ${id} PROFILE, or holdfast config set -p default kanban.default_assignee PROFILE`,
      ];
    case "profile-missing": {
      const whose = reason.byDefault ? ", which kanban.default_assignee names" : "";
      return [`there is no profile ${reason.profile}${whose}`, `holdfast profile create ${reason.profile}`];
    }
    case "profile-unreadable":
      return [`the configuration of profile ${reason.profile} cannot be read: ${reason.error}`, "correct it"];
    case "profile-not-spawnable":
      return [
        `profile ${reason.profile} has no worker.command, so its tasks wait for somebody who takes them`,
        `holdfast config set -p ${reason.profile} worker.command '["PROGRAM"]', or holdfast kanban claim ${id}`,
      ];
    case "profile-not-dispatched":
      return [`kanban.dispatch_profiles does not name ${reason.profile}`, null];
    case "from-sandbox":
      return [`it comes from a sandbox, and workers of ${reason.profile} run on the host`, trustFix(reason.profile, id)];
    case "sandbox-directory": {
      const where = `a sandbox could write to ${reason.path} (${reason.of})`;
      return [`${where}, and workers of ${reason.profile} run on the host`, trustFix(reason.profile, id)];
    }
    case "sandbox-repository": {
      const where = `a sandbox could write to ${reason.path} (${reason.of})`;
      return [`${where}, and git would run on the host what that repository names`, trustFix(reason.profile, id)];
    }
    case "guarded": {
      const failure = reason.error === null ? "" : `: ${firstAndLastLine(reason.error)}`;
      const fix = reason.reason === AFTER_FAILURE ? `holdfast kanban log ${id}` : null;
      return [`it is held back until ${time(reason.until)}: ${guardInWords(reason.reason)}${failure}`, fix];
    }
    case "capped": {
      const whose = Object.entries(reason.profiles).map(([name, count]) => `${name} ${count}`);
      return [`kanban.${reason.cap} is ${reason.limit}, and ${reason.running} run (${whose.join(", ")})`, null];
    }
    case "no-dispatcher": {
      const since = reason.since === null ? "" : ` since ${time(reason.since)}`;
      return [`no dispatcher is alive on the board ${reason.board}${since}`, "holdfast kanban dispatch --watch"];
    }
  }
}

function trustFix(profile: string, id: string): string {
  const other = `holdfast kanban assign ${id} PROFILE, of one whose workers run in sandboxes`;
  return `${other}; if that is what you want: holdfast config set -p ${profile} worker.accepts_from_sandboxes true`;
}

function time(at: number): string {
  return new Date(at).toISOString();
}
