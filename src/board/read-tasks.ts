/** @module Reading tasks: one, many, how many, and why one does not run. */
import { sql } from "kysely";
import { parseProfileName } from "../base/names.ts";
import { first, statement } from "./database.ts";
import { LEADER } from "./leaders.ts";
import { type Run, type RunRow, toRun } from "./runs.ts";
import type { StoreContext } from "./store-context.ts";
import { noTask, type Task, type TaskRow, toTask } from "./task.ts";
import { isFinished, STATUSES, type Status } from "./transitions.ts";

export interface TaskFilter {
  readonly board?: string | undefined;
  readonly status?: Status | readonly Status[] | undefined;
  /** null: those of nobody. */
  readonly assignee?: string | null | undefined;
  readonly tenant?: string | undefined;
  /** Only those with one of this kind, wherever it is. */
  readonly workspace?: "worktree" | undefined;
  readonly limit?: number | undefined;
  /** Those that were finished last come first. */
  readonly newest?: boolean | undefined;
}

export interface RunFilter {
  readonly board?: string | undefined;
  readonly task?: string | undefined;
  readonly profile?: string | undefined;
  readonly open?: boolean | undefined;
  readonly limit?: number | undefined;
}

/** What `why` is made of (K12); the caps and profiles are known elsewhere. */
export interface WhyFacts {
  readonly task: Task;
  readonly unfinishedParents: readonly Pick<Task, "id" | "title" | "status">[];
  readonly openRun: Run | null;
  /** Who dispatches on its board, and until when that is certain. */
  readonly leader: { readonly holder: string; readonly expiresAt: number } | null;
}

export interface Usage {
  readonly runs: number;
  readonly cost: number;
  readonly tokens: number;
}

/** A directory that unfinished tasks of a board name as their workspace, or as the repository of one. */
export interface NamedPlace {
  readonly workspace: string;
  /** Of the board, for those that name no repository. */
  readonly defaultWorkdir: string | null;
  /** One of them. */
  readonly task: string;
}

export interface ReadOperations {
  /** @throws `task-not-found` */
  getTask(id: string): Promise<Task>;
  /** The most urgent first, then the oldest. */
  listTasks(filter?: TaskFilter): Promise<Task[]>;
  parents(id: string): Promise<Task[]>;
  children(id: string): Promise<Task[]>;
  /** Oldest first. */
  runs(filter: RunFilter): Promise<Run[]>;
  /** Every status has a number. */
  counts(board?: string): Promise<Record<Status, number>>;
  /** How many tasks run for each profile. */
  running(board?: string): Promise<Record<string, number>>;
  /** What the workers have reported (K11). */
  usage(filter: Pick<RunFilter, "board" | "task" | "profile">): Promise<Usage>;
  whyFacts(id: string): Promise<WhyFacts>;
  /** Of all boards, each once. */
  namedPlaces(): Promise<NamedPlace[]>;
}

const BY_ID = statement<{ id: string }, TaskRow>((build, hole) => build.selectFrom("tasks").selectAll().where("id", "=", hole("id")));

const PARENTS = statement<{ id: string }, TaskRow>((build, hole) =>
  build
    .selectFrom("tasks")
    .innerJoin("links", "links.parent", "tasks.id")
    .selectAll("tasks")
    .where("links.child", "=", hole("id"))
    .orderBy("tasks.seq"),
);

const CHILDREN = statement<{ id: string }, TaskRow>((build, hole) =>
  build
    .selectFrom("tasks")
    .innerJoin("links", "links.child", "tasks.id")
    .selectAll("tasks")
    .where("links.parent", "=", hole("id"))
    .orderBy("tasks.seq"),
);

const OPEN_RUN = statement<{ id: string }, RunRow>((build, hole) =>
  build.selectFrom("runs").selectAll().where("task", "=", hole("id")).where("ended_at", "is", null),
);

/** Its words are those of its index. */
const NAMED_PLACES = statement<Record<never, never>, { workspace: string; default_workdir: string | null; task: string }>((build) =>
  build
    .selectFrom("tasks")
    .innerJoin("boards", "boards.slug", "tasks.board")
    .select(["tasks.workspace", "boards.default_workdir"])
    .select(({ fn }) => fn.min("tasks.id").as("task"))
    .where(sql<boolean>`tasks.workspace <> 'scratch' and tasks.status not in ('done', 'archived')`)
    .groupBy(["tasks.board", "tasks.workspace", "boards.default_workdir"]),
);

/** Some are archived without ever having been done. */
const finishedAt = sql<number>`coalesce(completed_at, created_at)`;

/** They have an index of their own, which is found by these words. */
const finished = sql<boolean>`status in ('done', 'archived')`;

export function readOperations({ database }: StoreContext): ReadOperations {
  const { build, read } = database;
  const byId = async (id: string) => {
    const row = await first(read((session) => session.all(BY_ID, { id })));
    if (row === undefined) throw noTask(id);
    return toTask(row);
  };
  const selectTasks = ({ board, status, assignee, tenant, workspace }: TaskFilter) => {
    let query = build.selectFrom("tasks");
    if (board !== undefined) query = query.where("board", "=", board);
    if (status !== undefined) query = typeof status === "string" ? query.where("status", "=", status) : query.where("status", "in", status);
    if (assignee !== undefined) {
      query = assignee === null ? query.where("assignee", "is", null) : query.where("assignee", "=", parseProfileName(assignee));
    }
    if (tenant !== undefined) query = query.where("tenant", "=", tenant);
    if (workspace !== undefined) query = query.where("workspace", "like", `${workspace}%`);
    return query;
  };
  const selectRuns = ({ board, task, profile, open }: RunFilter) => {
    let query = build.selectFrom("runs");
    // From the run to its task: a board has few open runs and any number of tasks.
    if (board !== undefined) {
      query = query.where(({ exists, selectFrom }) =>
        exists(selectFrom("tasks").select("tasks.id").whereRef("tasks.id", "=", "runs.task").where("tasks.board", "=", board)),
      );
    }
    if (task !== undefined) query = query.where("task", "=", task);
    if (profile !== undefined) query = query.where("profile", "=", profile);
    if (open !== undefined) query = query.where("ended_at", open ? "is" : "is not", null);
    return query;
  };

  return {
    getTask: byId,
    async listTasks({ limit, newest = false, ...filter } = {}) {
      const wanted = selectTasks(filter);
      if (!newest) {
        const all = wanted.selectAll().orderBy("priority", "desc").orderBy("seq");
        const query = limit === undefined ? all : all.limit(limit);
        return (await read((session) => session.query(query.compile()))).map(toTask);
      }
      // Sorted by their numbers alone: whole rows of any number of finished tasks would take many times as long.
      const last = ([filter.status].flat().every(isFinished) ? wanted.where(finished) : wanted)
        .select("seq")
        .orderBy(finishedAt, "desc")
        .orderBy("seq", "desc");
      const numbers = limit === undefined ? last : last.limit(limit);
      const query = build.selectFrom("tasks").selectAll().where("seq", "in", numbers).orderBy(finishedAt, "desc").orderBy("seq", "desc");
      return (await read((session) => session.query(query.compile()))).map(toTask);
    },
    parents: async (id) => (await read((session) => session.all(PARENTS, { id }))).map(toTask),
    children: async (id) => (await read((session) => session.all(CHILDREN, { id }))).map(toTask),
    async runs(filter) {
      // Ordered by the bare id, SQLite would go through all runs instead of the index of open ones.
      const all = selectRuns(filter)
        .selectAll()
        .orderBy(filter.open === true ? sql`id + 0` : sql.ref("id"));
      const query = filter.limit === undefined ? all : all.limit(filter.limit);
      return (await read((session) => session.query(query.compile()))).map(toRun);
    },
    async counts(board) {
      const all = build
        .selectFrom("tasks")
        .select(({ fn }) => ["status", fn.countAll<number>().as("count")])
        .groupBy("status");
      const query = board === undefined ? all : all.where("board", "=", board);
      const rows = await read((session) => session.query(query.compile()));
      const found = new Map(rows.map(({ status, count }) => [status, count]));
      return Object.fromEntries(STATUSES.map((status) => [status, found.get(status) ?? 0])) as Record<Status, number>;
    },
    async running(board) {
      const query = selectRuns({ board, open: true })
        .select(({ fn }) => ["profile", fn.countAll<number>().as("count")])
        .groupBy("profile");
      const rows = await read((session) => session.query(query.compile()));
      return Object.fromEntries(rows.map(({ profile, count }) => [profile, count]));
    },
    async usage(filter) {
      const query = selectRuns(filter).select(({ fn }) => [
        fn.countAll<number>().as("runs"),
        fn.sum<number | null>("cost").as("cost"),
        fn.sum<number | null>("tokens").as("tokens"),
      ]);
      const [row] = await read((session) => session.query(query.compile()));
      return { runs: row?.runs ?? 0, cost: Number(row?.cost ?? 0), tokens: Number(row?.tokens ?? 0) };
    },
    async namedPlaces() {
      const rows = await read((session) => session.all(NAMED_PLACES, {}));
      return rows.map(({ workspace, default_workdir: defaultWorkdir, task }) => ({ workspace, defaultWorkdir, task }));
    },
    async whyFacts(id) {
      const task = await byId(id);
      return await read(async (session) => {
        const above = (await session.all(PARENTS, { id })).filter(({ status }) => !isFinished(status));
        const run = await first(session.all(OPEN_RUN, { id }));
        const leader = await first(session.all(LEADER, { board: task.board }));
        return {
          task,
          unfinishedParents: above.map(({ id: parent, title, status }) => ({ id: parent, title, status })),
          openRun: run === undefined ? null : toRun(run),
          leader: leader === undefined ? null : { holder: leader.holder, expiresAt: leader.expires_at },
        };
      });
    },
  };
}
