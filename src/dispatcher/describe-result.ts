/** @module A pass of the dispatcher in words: one line for each bucket that is not empty, or for each reason in it (K33). */
import { firstFew } from "../base/first-few.ts";
import { guardInWords } from "./guard-words.ts";
import type { DispatchResult, Unspawnable } from "./result.ts";

export interface DescribeOptions {
  /** Nothing of it has happened. */
  readonly dryRun?: boolean;
  /** Why tasks could not be started, as far as it is known. */
  readonly errors?: ReadonlyMap<string, string>;
}

/** Nothing for a pass that found nothing to do. */
export function describeResult(result: DispatchResult, { dryRun = false, errors = new Map() }: DescribeOptions = {}): string[] {
  const say = (did: string, would: string) => (dryRun ? would : did);
  return [
    ...(result.skipped_locked ? ["Waits: another dispatcher leads this board"] : []),
    ...line(say("Reclaimed", "Would reclaim"), result.reclaimed),
    ...line(say("Put right", "Would put right"), result.reconciled),
    ...line(say("Stale", "Would end as stale"), result.stale),
    ...line(say("Crashed", "Would count as crashed"), result.crashed),
    ...line(say("Rate limited", "Would count as rate limited"), result.rate_limited),
    ...line(say("Ended without a word", "Would count as ended without a word"), result.protocol_violation),
    ...result.spawn_failed.map((task) => notStarted(task, { label: say("Could not be started", "Would count as not started"), errors })),
    ...line(say("Timed out", "Would end after its time"), result.timed_out),
    ...line(say("Blocked after too many failures", "Would block after too many failures"), result.auto_blocked),
    ...line("Left to another machine", result.elsewhere),
    ...line(say("Woken, since their time has come", "Would wake, since their time has come"), result.promoted),
    ...line(say("Deadline missed", "Would note a missed deadline"), result.deadline_missed),
    ...grouped(
      result.auto_assigned_default,
      ({ assignee }) => `${say("Auto-assigned", "Would auto-assign")} to kanban.default_assignee='${assignee}'`,
      line,
    ),
    ...result.spawned.map(({ task, assignee, workspace }) => `${say("Spawned", "Would spawn")} ${task} for ${assignee} in ${workspace}`),
    ...waiting("Skipped (unassigned)", result.skipped_unassigned),
    ...grouped(result.skipped_nonspawnable, ({ assignee, reason }) => `Skipped (${WHY_NOT[reason](assignee)})`),
    ...grouped(result.respawn_guarded, ({ reason, until }) => `Held back until ${new Date(until).toISOString()} (${guardInWords(reason)})`),
    ...grouped(
      result.skipped_per_profile_capped,
      ({ assignee, running }) => `Deferred (${assignee} at per-profile cap, ${running} running)`,
    ),
    ...grouped(result.skipped_capped, ({ cap, running }) =>
      cap === "max" ? `Deferred (${running} spawned, as many as asked for)` : `Deferred (kanban.${cap}, ${running} running)`,
    ),
  ];
}

function notStarted(task: string, { label, errors }: { label: string; errors: ReadonlyMap<string, string> }): string {
  const error = errors.get(task);
  return `${label}: ${task}${error === undefined ? "" : ` (${error})`}`;
}

const WHY_NOT: Readonly<Record<Unspawnable, (assignee: string) => string>> = {
  no_profile: (assignee) => `there is no profile ${assignee}`,
  no_command: (assignee) => `${assignee} has no worker.command`,
  unreadable: (assignee) => `the configuration of ${assignee} cannot be read`,
  not_in_dispatch_profiles: (assignee) => `${assignee} is not in kanban.dispatch_profiles`,
  from_sandbox: (assignee) => `they come from a sandbox, and workers of ${assignee} run on the host`,
  sandbox_directory: (assignee) => `a sandbox could write to their directory, and workers of ${assignee} run on the host`,
  sandbox_repository: () => "a sandbox could write to their repository, and git would run what it names on the host",
  review_dispatch_off: () => "in review, and kanban.review_dispatch is off",
};

function line(label: string, tasks: readonly string[]): string[] {
  return tasks.length === 0 ? [] : [`${label}: ${tasks.join(", ")}`];
}

/** Behind a cap there may be hundreds. Nothing has happened to them, and `list` shows them. */
function waiting(label: string, tasks: readonly string[]): string[] {
  return tasks.length === 0 ? [] : [`${label}: ${firstFew(tasks)}`];
}

function grouped<Entry extends { readonly task: string }>(
  entries: readonly Entry[],
  label: (entry: Entry) => string,
  show: typeof line = waiting,
): string[] {
  const groups = Map.groupBy(entries, label);
  return [...groups].flatMap(([words, group]) =>
    show(
      words,
      group.map(({ task }) => task),
    ),
  );
}
