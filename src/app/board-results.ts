/** @module Boards as programs see them, as plain types: the library's types must not drag a schema library or a query builder along. Times are milliseconds since the epoch. */

export type TaskStatus = "triage" | "todo" | "scheduled" | "ready" | "running" | "blocked" | "review" | "done" | "archived";

export interface BoardTask {
  /** `t_` and 8 hexadecimal digits. */
  readonly id: string;
  readonly board: string;
  readonly title: string;
  readonly body: string;
  readonly status: TaskStatus;
  /** `review` from a request for a review on, until somebody asks for changes. */
  readonly phase: "work" | "review";
  readonly assignee: string | null;
  readonly priority: number;
  readonly tenant: string | null;
  /** `scratch`, `dir:/path` or `worktree[:/path]`. */
  readonly workspace: string;
  readonly branch: string | null;
  readonly idempotencyKey: string | null;
  readonly maxRuntimeMs: number | null;
  readonly maxRetries: number | null;
  /** Null: the profile's own. */
  readonly skills: readonly string[] | null;
  readonly model: string | null;
  readonly deadline: number | null;
  /** `every 90m`, or five fields of cron: when it is done, the next one is made for then. */
  readonly repeat: string | null;
  /** Of `repeat`. Null: the machine's. */
  readonly timeZone: string | null;
  /** It was made in a sandbox, handed on from one, or worked on in one: for workers that are as isolated. */
  readonly fromSandbox: boolean;
  readonly createdBy: string;
  readonly createdAt: number;
  /** When its first run began. */
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  readonly scheduledFor: number | null;
  readonly blocked: { readonly kind: string | null; readonly reason: string | null; readonly by: string } | null;
  /** Nobody takes it before then. */
  readonly guard: { readonly reason: string; readonly until: number } | null;
  /** Runs that failed since the last one that did not. */
  readonly failures: number;
  readonly lastError: string | null;
}

/** Why a task does not run. */
export interface TaskReason {
  readonly kind: string;
  readonly text: string;
  /** What can be done about it. */
  readonly fix: string | null;
}

export interface TaskRun {
  readonly id: number;
  readonly task: string;
  readonly profile: string;
  readonly phase: "work" | "review";
  readonly startedAt: number;
  readonly heartbeatAt: number | null;
  readonly endedAt: number | null;
  /** Null while it goes on. */
  readonly outcome: string | null;
  readonly summary: string | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly error: string | null;
  readonly cost: number | null;
  readonly tokens: number | null;
}

export interface TaskComment {
  readonly id: number;
  readonly task: string;
  readonly author: string;
  readonly body: string;
  readonly createdAt: number;
}

export interface TaskAttachment {
  readonly id: number;
  readonly task: string;
  readonly name: string;
  /** Of the board's own copy. */
  readonly path: string;
  readonly contentType: string;
  readonly size: number;
  readonly addedBy: string;
  readonly createdAt: number;
}

export interface TaskDetails {
  readonly task: BoardTask;
  /** Empty while it runs, and when it is finished. */
  readonly why: readonly TaskReason[];
  readonly parents: readonly Pick<BoardTask, "id" | "title" | "status">[];
  readonly children: readonly Pick<BoardTask, "id" | "title" | "status">[];
  /** The last ones, oldest first. */
  readonly runs: readonly TaskRun[];
  readonly comments: readonly TaskComment[];
  readonly attachments: readonly TaskAttachment[];
}

export interface TaskList {
  readonly board: string;
  /** Of each status on the whole board, whatever was asked for. */
  readonly counts: Readonly<Record<TaskStatus, number>>;
  readonly tasks: readonly (BoardTask & { readonly why: readonly TaskReason[] })[];
}

export interface CreatedTask {
  readonly task: BoardTask;
  /** False: there was one with this idempotency key already, and this is it. */
  readonly created: boolean;
  /** Why nobody would take it. Always empty in a worker. */
  readonly warnings: readonly TaskReason[];
}

/** What a new task may say besides its title. */
export interface NewTask {
  readonly body?: string;
  readonly assignee?: string;
  /** Ids of tasks that must be finished before. */
  readonly parents?: readonly string[];
  /** Higher comes first. */
  readonly priority?: number;
  readonly tenant?: string;
  readonly workspace?: string;
  readonly branch?: string;
  readonly maxRuntimeMs?: number;
  readonly maxRetries?: number;
  readonly skills?: readonly string[];
  readonly model?: string;
  readonly deadline?: number;
  /** `every 90m`, or five fields of cron: when it is done, the next one is made for then. */
  readonly repeat?: string;
  /** Of `repeat`, such as `Europe/Berlin`; else the machine's. */
  readonly timeZone?: string;
  /** The board keeps one task of each key: asking again gives the first one. */
  readonly idempotencyKey?: string;
  /** A rough idea, which nobody works on yet. */
  readonly triage?: boolean;
  /** Why nobody shall take it yet. */
  readonly blocked?: string;
  /** Not before then. */
  readonly scheduledFor?: number;
}

/** What is handed to people and to the tasks that come next. */
export interface TaskHandover {
  readonly summary?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** In whatever the worker counts in. */
  readonly cost?: number;
  readonly tokens?: number;
}

export interface TaskCompletion extends TaskHandover {
  /** Files that are attached before the task counts as done; if one cannot be, nothing is completed. */
  readonly artifacts?: readonly string[];
  /** Ids of tasks that were made on the way; they must exist. */
  readonly created?: readonly string[];
}

/** `dependency`: a linked task comes first, and then it goes on by itself. */
export type BlockReason = "dependency" | "needs_input" | "capability" | "transient";

export interface TaskFilter {
  readonly status?: readonly TaskStatus[];
  /** Null: those of nobody. */
  readonly assignee?: string | null;
  readonly tenant?: string;
  /** Archived ones, too. */
  readonly archived?: boolean;
  /**
   * Most of each status.
   * @default 200, and of finished ones the newest 10
   */
  readonly limit?: number;
}

/** One board. Every method rejects with `task-not-found` for a task that is not on it, and with `move-refused` for what the rules forbid. */
export interface Board {
  create(title: string, options?: NewTask): Promise<CreatedTask>;
  list(filter?: TaskFilter): Promise<TaskList>;
  /** With why it does not run, what came before and after it, and what was said and done. */
  get(id: string): Promise<TaskDetails>;
  comment(id: string, body: string): Promise<TaskComment>;
  /** A copy of a file of at most 25 MiB. */
  attach(id: string, path: string, options?: { readonly name?: string; readonly contentType?: string }): Promise<TaskAttachment>;
  /** Null: to nobody. */
  assign(id: string, assignee: string | null): Promise<BoardTask>;
  /** The child waits until the parent is done or archived. Resolves to the child. */
  link(parent: string, child: string): Promise<BoardTask>;
  unlink(parent: string, child: string): Promise<BoardTask>;
  complete(id: string, options?: TaskCompletion): Promise<BoardTask>;
  block(id: string, reason: string, options?: { readonly kind?: BlockReason }): Promise<BoardTask>;
  unblock(id: string, options?: { readonly reason?: string }): Promise<BoardTask>;
  archive(id: string): Promise<BoardTask>;
  /** Takes up again what is done or archived; what waits for it waits again. */
  reopen(id: string, options?: { readonly reason?: string }): Promise<BoardTask>;
}
