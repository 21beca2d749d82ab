/** @module Rules about single tasks. */
import { formatDuration } from "../../base/duration.ts";
import { firstLine } from "../../base/first-line.ts";
import type { Task } from "../../board/task.ts";
import { troubleInWords, troubleOf } from "../../dispatcher/run-trouble.ts";
import type { Diagnostic, Rule } from "./diagnostic.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const REPEATED = 2;

const free = ({ status }: Task) => status === "ready" || status === "review";

function about({ id }: Pick<Task, "id">, diagnostic: Omit<Diagnostic, "task">): Diagnostic {
  return { ...diagnostic, task: id };
}

const missingProfile: Rule = ({ tasks, profiles }) => {
  const names = new Set(profiles.map(({ name }) => name));
  return tasks
    .filter(({ assignee }) => assignee !== null && !names.has(assignee))
    .map((task) =>
      about(task, {
        rule: "profile-missing",
        severity: free(task) ? "error" : "warning",
        text: `${task.id} is assigned to ${task.assignee}, and there is no such profile`,
        todo: `\`holdfast profile create ${task.assignee}\`, or \`holdfast kanban assign ${task.id} PROFILE\``,
      }),
    );
};

const unassigned: Rule = ({ tasks, settings: { settings } }) =>
  settings.defaultAssignee !== null
    ? []
    : tasks
        .filter((task) => free(task) && task.assignee === null)
        .map((task) =>
          about(task, {
            rule: "unassigned",
            severity: "warning",
            text: `${task.id} is ${task.status}, but nobody is to do it`,
            todo: `\`holdfast kanban assign ${task.id} PROFILE\`, or set kanban.default_assignee`,
          }),
        );

const failures: Rule = ({ tasks }) =>
  tasks
    .filter(({ failures: count, status }) => count >= REPEATED && status !== "blocked")
    .map((task) =>
      about(task, {
        rule: "failures",
        severity: "warning",
        text: `the last ${task.failures} runs of ${task.id} failed${lastError(task)}`,
        todo: `\`holdfast kanban log ${task.id}\` shows what its workers said`,
      }),
    );

const gaveUp: Rule = ({ tasks }) =>
  tasks
    .filter(({ blocked }) => blocked?.kind === "gave_up")
    .map((task) =>
      about(task, {
        rule: "gave-up",
        severity: "error",
        text: `${task.id} was given up after ${failedRuns(task)}${lastError(task)}`,
        todo: `mend the cause, then \`holdfast kanban unblock ${task.id}\``,
      }),
    );

function failedRuns({ failures: failed, violations: silent }: Task): string {
  const runs = (count: number, how: string) => (count === 0 ? [] : [`${count} ${count === 1 ? "run" : "runs"} that ${how}`]);
  return [...runs(failed, "failed"), ...runs(silent, "ended without a word")].join(" and ") || "failed runs";
}

/** Its whole is in what `show` says of the run. */
function lastError({ lastError: error }: Task): string {
  return error ? `: ${firstLine(error)}` : "";
}

const blockedLong: Rule = ({ tasks, blockedSince, now }) =>
  tasks
    .filter(
      ({ id, status, blocked }) => status === "blocked" && blocked?.kind !== "gave_up" && now - (blockedSince.get(id) ?? now) > DAY_MS,
    )
    .map((task) =>
      about(task, {
        rule: "blocked-long",
        severity: "warning",
        text: `${task.id} is blocked for ${formatDuration(now - (blockedSince.get(task.id) ?? now))}: ${firstLine(task.blocked?.reason ?? "no reason was given")}`,
        todo: `answer with \`holdfast kanban comment ${task.id} TEXT\`, then \`holdfast kanban unblock ${task.id}\``,
      }),
    );

/** A dispatcher that is alive judges at once what has ended, and most workers can be ended at once. */
const deadWorker: Rule = ({ openRuns, now, dispatched }) =>
  openRuns.flatMap((run) => {
    const trouble = troubleOf(run);
    if (trouble === null) return [];
    const since = trouble.kind === "being-ended" ? trouble.since : (run.heartbeatAt ?? run.startedAt);
    if (dispatched && now - since <= MINUTE_MS) return [];
    const [text, fix] = troubleInWords(trouble, run.task);
    const alive = dispatched ? "" : "; no dispatcher is alive";
    const todo = dispatched && fix !== null ? fix : "`holdfast kanban dispatch --watch` is a dispatcher";
    return [about({ id: run.task }, { rule: trouble.kind, severity: "error", text: `${run.task}: ${text}${alive}`, todo })];
  });

const heartbeat: Rule = ({ openRuns, now }) =>
  openRuns.flatMap((run) => {
    // Nobody expects a sign of life from those.
    if (troubleOf(run) !== null) return [];
    const { task: id, profile, startedAt, heartbeatAt, expiresAt } = run;
    const silent = now - (heartbeatAt ?? startedAt);
    const todo = `\`holdfast kanban log ${id}\` shows what it does, \`holdfast kanban reclaim ${id}\` takes the task back`;
    if (expiresAt !== null && expiresAt <= now) {
      const text = `the claim of ${profile} on ${id} ended ${formatDuration(now - expiresAt)} ago, and nobody has taken the task back`;
      return [about({ id }, { rule: "claim-expired", severity: "error", text, todo })];
    }
    if (silent <= HOUR_MS) return [];
    const text = `the worker of ${profile} on ${id} has not been heard of for ${formatDuration(silent)}`;
    return [about({ id }, { rule: "heartbeat", severity: "warning", text, todo })];
  });

const deadline: Rule = ({ tasks, now }) =>
  tasks.flatMap((task) => {
    if (task.deadline === null || task.deadline - now > DAY_MS) return [];
    const missed = task.deadline <= now;
    const edit = `\`holdfast kanban edit ${task.id} --deadline TIME\` gives it another one`;
    const todo = task.status === "blocked" ? `${edit}, \`holdfast kanban unblock ${task.id}\` lets it go on` : edit;
    const when = formatDuration(Math.abs(task.deadline - now));
    const text = missed ? `${task.id} missed its deadline ${when} ago` : `the deadline of ${task.id} is in ${when}`;
    return [about(task, { rule: missed ? "deadline-missed" : "deadline-near", severity: missed ? "error" : "warning", text, todo })];
  });

export const TASK_RULES: readonly Rule[] = [missingProfile, unassigned, failures, gaveUp, blockedLong, deadWorker, heartbeat, deadline];
