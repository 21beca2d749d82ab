/** @module holdfast kanban show: a task with everything around it. */
import { existsSync } from "node:fs";
import type { Command } from "commander";
import { taskShow } from "../../app/operations/task-show.ts";
import { sandboxDrift, workerEnd } from "../../app/worker-end.ts";
import { formatDuration } from "../../base/duration.ts";
import { firstLine } from "../../base/first-line.ts";
import type { BoardEvent } from "../../board/events.ts";
import type { Run } from "../../board/runs.ts";
import type { Task } from "../../board/task.ts";
import type { Terminal } from "../render.ts";
import { readableSize } from "../values.ts";
import { addHelpNotes, type VerbInvocation, type VerbRunner } from "../verb.ts";
import { given, kanbanVerb, text } from "./kanban-verb.ts";
import { ago, shown } from "./time.ts";

export function registerShow(kanban: Command, runner: VerbRunner): void {
  const show = kanbanVerb(kanban, "show", "show a task: why it does not run, runs, comments, attachments, what happened")
    .argument("[id]", "the task; a worker's own if left out")
    .action((id: string | undefined) => runner.run(show, (invocation) => showTask(id, invocation)));
  addHelpNotes(show, {
    examples: [
      ["holdfast kanban show t_1a2b3c4d", "why it does not run stands right below its status"],
      ["holdfast kanban show --json", "in a worker: all about its own task"],
    ],
  });
}

async function showTask(id: string | undefined, { app, terminal, flags }: VerbInvocation): Promise<void> {
  const result = await taskShow.run(app, given({ id, board: text(flags, "board") }));
  if (flags.json) return terminal.json(result);
  const { task, why, parents, children, runs, comments, attachments, events, usage } = result;
  const now = app.clock.now();
  showFields(terminal, task, now);
  for (const { text: reason, fix } of why) terminal.fact("why", fix === null ? reason : `${reason} (${fix})`);
  if (task.status === "ready" && why.length === 0) terminal.fact("why", "nothing holds it back; the dispatcher takes it next");
  const files = keptFiles(events);
  if (files !== null) terminal.fact("files", files);
  if (usage.cost > 0 || usage.tokens > 0) terminal.fact("usage", `${usage.runs} runs, ${usage.tokens} tokens, cost ${usage.cost}`);
  if (task.body !== "") section(terminal, "body", () => terminal.text(task.body));
  for (const [name, others] of [["parents", parents] as const, ["children", children] as const]) {
    if (others.length === 0) continue;
    section(terminal, name, () => {
      for (const other of others) terminal.text(`${other.id}  ${other.status}  ${oneLine(other.title)}`);
    });
  }
  if (runs.length > 0) {
    section(terminal, "runs", () => {
      for (const run of runs) showRun(terminal, run, now);
    });
  }
  if (comments.length > 0) {
    section(terminal, "comments", () => {
      for (const { author, createdAt, body } of comments) {
        terminal.text(`${author}, ${ago(createdAt, now)}:`);
        terminal.text(body, { indent: 4 });
      }
    });
  }
  if (attachments.length > 0) {
    section(terminal, "attachments", () => {
      for (const { name, size, path } of attachments) terminal.text(oneLine(`${name}  ${readableSize(size)}  ${path}`));
    });
  }
  section(terminal, "events", () => {
    for (const event of events) terminal.text(eventLine(event));
  });
}

export function showRun(terminal: Terminal, run: Run, now: number): void {
  const end = run.outcome === null ? workerEnd(run) : null;
  const ended = end === null ? "" : `, worker ended (${oneLine(end)})`;
  const how = run.outcome ?? `${run.revokedAt === null ? "open" : "revoked"}${ended}`;
  // A worker that has ended takes no longer, but when it ended only the events know.
  const took = end === null ? `, took ${formatDuration((run.endedAt ?? now) - run.startedAt)}` : "";
  terminal.text(`run ${run.id}  ${run.phase}  ${oneLine(run.profile)}  ${how}  ${ago(run.startedAt, now)}${took}`);
  const drift = sandboxDrift(run);
  if (drift !== null) terminal.text(drift, { indent: 4 });
  if (run.summary !== null) terminal.text(run.summary, { indent: 4 });
  if (run.error !== null) terminal.text(`error: ${run.error}`, { indent: 4 });
  if (run.metadata !== null) terminal.text(JSON.stringify(run.metadata), { indent: 4 });
}

export function eventLine({ at, task, kind, actor, payload }: Omit<BoardEvent, "kind"> & { kind: string }, { named = false } = {}): string {
  const { from, to, ...rest } = payload;
  const move = from === undefined ? "" : `  ${String(from)} → ${String(to)}`;
  const data =
    Object.keys(rest).length === 0 ? "" : `  ${JSON.stringify(rest, (_, value) => (typeof value === "string" ? firstLine(value) : value))}`;
  return oneLine(`${shown(at)}${named ? `  ${task ?? "-"}` : ""}  ${kind}  by ${actor}${move}${data}`);
}

/** The workspace of the last worker, as long as it is there. */
function keptFiles(events: readonly { kind: string; payload: BoardEvent["payload"] }[]): string | null {
  const { workspace } = events.findLast(({ kind }) => kind === "worker_started")?.payload ?? {};
  return typeof workspace === "string" && existsSync(workspace) ? `still in ${workspace}` : null;
}

function showFields(terminal: Terminal, task: Task, now: number): void {
  const facts: [string, string | null][] = [
    ["id", task.id],
    ["title", task.title],
    ["board", task.board],
    ["status", task.phase === "review" && task.status !== "review" ? `${task.status} (review)` : task.status],
    ["assignee", task.assignee ?? "nobody"],
    ["implementer", task.implementer],
    ["priority", task.priority === 0 ? null : String(task.priority)],
    ["tenant", task.tenant],
    ["workspace", task.workspace],
    ["branch", task.branch],
    ["from", task.fromSandbox ? "a sandbox" : null],
    ["skills", task.skills?.join(", ") ?? null],
    ["model", task.model],
    ["max runtime", task.maxRuntimeMs === null ? null : formatDuration(task.maxRuntimeMs)],
    ["max retries", task.maxRetries === null ? null : String(task.maxRetries)],
    ...timesOf(task, now),
    ["created", `${ago(task.createdAt, now)} by ${task.createdBy}`],
    ["started", task.startedAt === null ? null : ago(task.startedAt, now)],
    ["completed", task.completedAt === null ? null : ago(task.completedAt, now)],
    ["failures", task.failures + task.violations === 0 ? null : `${task.failures} failed, ${task.violations} without a word`],
    ["last error", task.lastError === null ? null : firstLine(task.lastError)],
  ];
  for (const [name, value] of facts) if (value !== null) terminal.fact(name, value);
}

function timesOf(task: Task, now: number): [string, string | null][] {
  const at = (time: number | null) => (time === null ? null : `${shown(time)}, ${ago(time, now)}`);
  const zone = task.timeZone === null ? "" : ` (${task.timeZone})`;
  return [
    ["deadline", at(task.deadline)],
    ["overdue", task.overdueAt === null ? null : `noted ${ago(task.overdueAt, now)}`],
    ["scheduled", at(task.scheduledFor)],
    ["repeats", task.repeat === null ? null : task.repeat + zone],
    ["series", task.series === null ? null : task.series === task.id ? "it is the first" : `since ${task.series}`],
    ["next", task.successor],
  ];
}

function section(terminal: Terminal, name: string, content: () => void): void {
  terminal.line(`${name}:`);
  content();
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, " ");
}
