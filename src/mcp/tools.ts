/** @module The verbs of the board as tools for models: which operations, under which names, and what is said about each field (K29). */
import type * as z from "zod/mini";
import { taskAttach } from "../app/operations/task-attach.ts";
import { taskBlock } from "../app/operations/task-block.ts";
import { taskComment } from "../app/operations/task-comment.ts";
import { taskComplete } from "../app/operations/task-complete.ts";
import { taskContext } from "../app/operations/task-context.ts";
import { taskCreate } from "../app/operations/task-create.ts";
import { taskHeartbeat } from "../app/operations/task-heartbeat.ts";
import { taskLink } from "../app/operations/task-link.ts";
import { taskList } from "../app/operations/task-list.ts";
import { taskRequestChanges } from "../app/operations/task-request-changes.ts";
import { taskRequestReview } from "../app/operations/task-request-review.ts";
import { taskShow } from "../app/operations/task-show.ts";
import { taskUnblock } from "../app/operations/task-unblock.ts";
import { TIME, type Tool, toolOf } from "./tool.ts";

const ID = "The task, as t_ and hexadecimal digits. A worker may leave it out: then it is its own.";
const BOARD = "The board; else the one that counts.";
const HANDOVER = {
  summary: "What was done and found, for whoever takes it from here.",
  metadata: "Anything a program may want to know, as an object.",
  cost: "What the work has cost, in your currency.",
  tokens: "How many tokens the work took.",
};

/** What a worker may do with its own task, and around it; others with any. */
const FOR_ALL: readonly Tool[] = [
  toolOf("kanban_show", taskShow, {
    description: "Show a task as data: its fields, why it does not run, parents, children, runs, comments, attachments and events.",
    fields: { id: ID, board: BOARD },
    readOnly: true,
  }),
  toolOf("kanban_context", taskContext, {
    description:
      "Everything a worker should know about a task, as one text: what to do, what the tasks before it handed over, earlier attempts, comments, attachments with their paths, and how to end. Begin with it.",
    fields: { id: ID, board: BOARD },
    readOnly: true,
    words: ({ text }) => text,
  }),
  toolOf("kanban_complete", taskComplete, {
    description: "Complete the task. It counts as done, and what waited for it begins.",
    fields: {
      id: ID,
      board: BOARD,
      ...HANDOVER,
      artifacts: "Paths of files that shall be kept with the task, in the workspace. If one cannot be saved, the task is not completed.",
      created: "Ids of tasks that were made on the way. They must exist.",
    },
  }),
  toolOf("kanban_block", taskBlock, {
    description: "Say that the task cannot go on without help, and why.",
    fields: {
      id: ID,
      board: BOARD,
      reason: "What is missing, so that somebody can provide it.",
      kind: "dependency: a linked task comes first, and then it goes on by itself. needs_input: a person must answer. capability: this worker cannot do it. transient: it may work later.",
    },
  }),
  toolOf("kanban_request_review", taskRequestReview, {
    description: "Say that the work is done and somebody shall look at it before it counts.",
    fields: { id: ID, board: BOARD, ...HANDOVER, reviewer: "The profile that shall review it." },
  }),
  toolOf("kanban_request_changes", taskRequestChanges, {
    description: "End a review that found something: the task goes back to whoever did it.",
    fields: { id: ID, board: BOARD, reason: "What must be changed." },
  }),
  toolOf("kanban_comment", taskComment, {
    description: "Comment on any task of the board, under your own name.",
    fields: { id: ID, board: BOARD, body: "The text." },
  }),
  toolOf("kanban_create", taskCreate, {
    description: "Make a task on the board.",
    fields: {
      board: BOARD,
      title: "One line.",
      body: "Everything that whoever takes it must know.",
      assignee: "The profile that shall do it.",
      parents: "Ids of tasks that must be finished first.",
      priority: "Higher ones come first; 0 is usual.",
      tenant: "For whom it is done.",
      workspace: "scratch, dir:/absolute/path, worktree, or worktree:/path/of/repository.",
      branch: "The branch of its worktree.",
      maxRuntimeMs: "How long one attempt may take, in milliseconds.",
      maxRetries: "How many failures in a row block it.",
      skills: "What its worker shall have at hand.",
      model: "The model that its worker shall use.",
      deadline: "Until when it should be done, with the zone.",
      repeat: "Make it again whenever it is finished: such as `every 1d` (s, m, h, d or w), or five fields of cron such as `0 9 * * 1-5`.",
      timeZone: "Of the cron fields, such as Europe/Berlin.",
      idempotencyKey: "A second task with the same key is not made; the first is given instead.",
      triage: "Put it aside until somebody has specified it.",
      blocked: "Begin blocked, for this reason.",
      scheduledFor: "Not before then, with the zone.",
    },
    written: { deadline: TIME, scheduledFor: TIME },
  }),
  toolOf("kanban_link", taskLink, {
    description: "Let one task wait until another is finished.",
    fields: { board: BOARD, parent: "The task that must be finished first.", child: "The task that waits." },
  }),
  toolOf("kanban_attach", taskAttach, {
    description: "Keep a copy of a file with the task.",
    fields: {
      id: ID,
      board: BOARD,
      path: "The file; a worker's must lie in its workspace.",
      name: "What it is called; else as the file.",
      contentType: "Such as text/plain; else by its name.",
    },
  }),
];

/** Whoever has a run. */
const FOR_WORKERS: readonly Tool[] = [
  toolOf("kanban_heartbeat", taskHeartbeat, {
    description: "Say that the work goes on. If the claim is lost, stop working on the task.",
    fields: { id: ID, board: BOARD, token: "The token of the run." },
  }),
];

const FOR_ORCHESTRATORS: readonly Tool[] = [
  toolOf("kanban_list", taskList, {
    description:
      "List the tasks of a board, with the reasons why each one does not run; kanban_show tells the rest of one. Of finished ones only the newest.",
    fields: {
      board: BOARD,
      status: "Only these.",
      assignee: "Only those of this profile; null: those of nobody.",
      tenant: "Only those of this tenant.",
      archived: "Archived ones, too.",
      limit: "Most tasks of each status. With many tasks on the board, name the status, too.",
    },
    words: ({ tasks, ...rest }) => JSON.stringify({ ...rest, tasks: tasks.map(inShort) }),
    readOnly: true,
  }),
  toolOf("kanban_unblock", taskUnblock, {
    description: "Let a blocked task go on, or wake a scheduled one.",
    fields: { id: "The task, as t_ and hexadecimal digits.", board: BOARD, reason: "Why it may go on, for whoever takes it." },
  }),
];

/** Who a worker is, is known: it has one board and one token. */
const KNOWN_OF_WORKERS: readonly string[] = ["board", "token"];

export function toolsFor({ worker }: { worker: boolean }): Tool[] {
  if (!worker) return [...FOR_ALL, ...FOR_ORCHESTRATORS];
  return [...FOR_ALL, ...FOR_WORKERS].map((tool) => tool.without(KNOWN_OF_WORKERS));
}

type Listed = z.infer<typeof taskList.output>["tasks"][number];

/** All of it would be too much to read for a model, and most of it is null. */
function inShort({ id, title, status, assignee, priority, why }: Listed) {
  return { id, title, status, assignee, priority, why: why.map(({ text }) => text) };
}
