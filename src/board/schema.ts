/** @module The tables of the board as types. Times are milliseconds since the epoch; what is not a plain value is JSON in a text. */
import type { Generated } from "kysely";
import { RELEASES } from "./failures.ts";
import type { Phase, Status } from "./transitions.ts";

/** How a run ended. */
export const OUTCOMES = ["completed", "blocked", "waiting", "review_requested", "changes_requested", ...RELEASES] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Why a task is blocked: what the worker or person said, `gave_up` when runs failed too often, `deadline` when it is too late. */
export const BLOCK_KINDS = ["needs_input", "capability", "transient", "gave_up", "deadline"] as const;
export type BlockKind = (typeof BLOCK_KINDS)[number];

export const LARGEST_ATTACHMENT = 25 * 1024 * 1024;

export interface BoardTable {
  slug: string;
  name: string;
  description: string;
  icon: string;
  default_workdir: string | null;
  created_at: number;
  archived_at: number | null;
}

/** What a move may change of a task. */
export interface TaskState {
  status: Status;
  phase: Phase;
  assignee: string | null;
  /** Whose work is reviewed: the assignee again when changes are asked for. */
  implementer: string | null;
  started_at: number | null;
  completed_at: number | null;
  scheduled_for: number | null;
  block_kind: BlockKind | null;
  block_reason: string | null;
  blocked_by: string | null;
  guard_reason: string | null;
  guard_until: number | null;
  failures: number;
  violations: number;
  last_error: string | null;
}

export interface TaskTable extends TaskState {
  /** Grows with age, whatever the clock did meanwhile. */
  seq: Generated<number>;
  id: string;
  board: string;
  title: string;
  body: string;
  priority: number;
  tenant: string | null;
  workspace: string;
  branch: string | null;
  idempotency_key: string | null;
  max_runtime_ms: number | null;
  max_retries: number | null;
  skills: string | null;
  model: string | null;
  deadline: number | null;
  /** When it was noted that the deadline has passed. */
  overdue_at: number | null;
  /** `every 90m`, or five fields of cron. */
  repeat: string | null;
  time_zone: string | null;
  /** Shared by a repeating task and all that came of it: the id of the first. */
  series: string | null;
  /** The one that came of it when it was done: there is never a second. */
  successor: string | null;
  decomposed_at: number | null;
  /** 1: it was made in a sandbox, handed on from one, or worked on in one. It never becomes 0 again. */
  from_sandbox: number;
  created_by: string;
  created_at: number;
}

export interface LinkTable {
  parent: string;
  child: string;
}

export interface CommentTable {
  id: Generated<number>;
  task: string;
  run: number | null;
  author: string;
  body: string;
  created_at: number;
}

export interface AttachmentTable {
  id: Generated<number>;
  task: string;
  run: number | null;
  name: string;
  path: string;
  content_type: string;
  size: number;
  added_by: string;
  created_at: number;
}

export interface EventTable {
  id: Generated<number>;
  board: string;
  task: string | null;
  run: number | null;
  kind: string;
  actor: string;
  payload: string;
  created_at: number;
}

export interface RunTable {
  id: Generated<number>;
  task: string;
  /** Of its task, so that a board's runs are summed up without looking at its tasks. */
  board: string | null;
  profile: string;
  phase: Phase;
  /** Of the fencing token, so that whoever reads the database cannot write as the run. Null for a run that never had a claim. */
  token_hash: string | null;
  claimed_by: string;
  /** What the supervisor needs to find its process again. */
  worker: string | null;
  started_at: number;
  expires_at: number | null;
  heartbeat_at: number | null;
  /** From then on its token is worth nothing, though its worker may still live. */
  revoked_at: number | null;
  ended_at: number | null;
  outcome: Outcome | null;
  summary: string | null;
  metadata: string | null;
  error: string | null;
  cost: number | null;
  tokens: number | null;
}

export interface LeaderTable {
  board: string;
  holder: string;
  /** Grows with each change of the holder. */
  term: number;
  expires_at: number;
}

/** A directory of the host to which a sandbox could write. Its task may be gone. */
export interface SandboxPlaceTable {
  /** Without links. */
  path: string;
  /** 1: Holdfast made it for the task alone; 0: somebody named it. */
  managed: number;
  task: string;
  created_at: number;
}

export interface MetaTable {
  key: string;
  value: number;
}

export interface Tables {
  boards: BoardTable;
  tasks: TaskTable;
  links: LinkTable;
  comments: CommentTable;
  attachments: AttachmentTable;
  events: EventTable;
  runs: RunTable;
  leaders: LeaderTable;
  sandbox_places: SandboxPlaceTable;
  meta: MetaTable;
}
