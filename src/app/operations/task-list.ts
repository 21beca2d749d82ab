/** @module Lists the tasks of a board by status. Of finished ones only the newest, since there may be any number of them. */
import * as z from "zod/mini";
import type { Task } from "../../board/task.ts";
import { isFinished, STATUSES, type Status } from "../../board/transitions.ts";
import { defineOperation } from "../operation.ts";
import { BoardInput, StatusShape, TaskShape, WhyShape } from "../task-shapes.ts";
import { createExplainer } from "../task-why.ts";

const LIVE_LIMIT = 200;
const FINISHED_LIMIT = 10;

export const taskList = defineOperation({
  name: "task.list",
  summary: "List the tasks of a board",
  input: z.strictObject({
    board: BoardInput,
    status: z.optional(z.array(StatusShape)),
    /** null: those of nobody. */
    assignee: z.optional(z.nullable(z.string())),
    tenant: z.optional(z.string()),
    archived: z.optional(z.boolean()),
    /** Most tasks of each status. */
    limit: z.optional(z.int().check(z.minimum(1))),
  }),
  output: z.object({
    board: z.string(),
    /** Of each status on the whole board, whatever was asked for. */
    counts: z.record(StatusShape, z.int()),
    /** `runningSince`: when the run began whose worker is at it. */
    tasks: z.array(z.extend(TaskShape, { why: z.array(WhyShape), runningSince: z.nullable(z.int()) })),
    /** How many of a status were left out by the limit; null: some, but a filter keeps from knowing how many. */
    more: z.partialRecord(StatusShape, z.nullable(z.int())),
  }),
  async run(app, { board: asked, status, assignee, tenant, archived = false, limit }) {
    const kanban = await app.kanban();
    kanban.person("the list of tasks");
    const { store } = kanban;
    const { slug: board } = await kanban.existingBoard(asked);
    const wanted = status ?? STATUSES.filter((each) => archived || each !== "archived");
    const counts = await store.counts(board);
    const filtered = assignee !== undefined || tenant !== undefined;
    const explainer = await createExplainer(app);
    const tasks: Task[] = [];
    const more: Partial<Record<Status, number | null>> = {};
    for (const each of wanted.filter((one) => counts[one] > 0)) {
      const finished = isFinished(each);
      const most = limit ?? (finished ? FINISHED_LIMIT : LIVE_LIMIT);
      const found = await store.listTasks({ board, status: each, assignee, tenant, limit: most + 1, newest: finished });
      if (found.length > most) more[each] = filtered ? null : counts[each] - most;
      tasks.push(...found.slice(0, most));
    }
    const open = tasks.some((task) => task.status === "running") ? await store.openRuns(board) : [];
    const since = new Map(open.map((run) => [run.task, run.startedAt]));
    const explained = tasks.map(async (task) => {
      const why = await explainer.why(task);
      // A worker that has ended takes no longer.
      const runs = why.every(({ kind }) => kind !== "worker-ended");
      return { ...task, why, runningSince: runs ? (since.get(task.id) ?? null) : null };
    });
    return { board, counts, more, tasks: await Promise.all(explained) };
  },
});
