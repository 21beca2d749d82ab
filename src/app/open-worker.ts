/** @module The library for workers: one task, as whoever was started for it sees it (K28, K29). */
import { checkFields, type InputType, TEXT } from "../base/check-input.ts";
import { HoldfastError } from "../base/errors.ts";
import { processEnvironment } from "../config/environment.ts";
import type {
  BlockReason,
  BoardTask,
  CreatedTask,
  NewTask,
  TaskAttachment,
  TaskComment,
  TaskCompletion,
  TaskDetails,
  TaskHandover,
} from "./board-results.ts";
import { callerDirectory, fromCaller } from "./caller-directory.ts";
import { createApp } from "./create-app.ts";
import { ENVIRONMENT } from "./open-holdfast.ts";
import { type Operation, runOperation } from "./operation.ts";
import { taskAttach } from "./operations/task-attach.ts";
import { taskBlock } from "./operations/task-block.ts";
import { taskComment } from "./operations/task-comment.ts";
import { taskComplete } from "./operations/task-complete.ts";
import { taskContext } from "./operations/task-context.ts";
import { taskCreate } from "./operations/task-create.ts";
import { taskHeartbeat } from "./operations/task-heartbeat.ts";
import { taskLink } from "./operations/task-link.ts";
import { taskRequestChanges } from "./operations/task-request-changes.ts";
import { taskRequestReview } from "./operations/task-request-review.ts";
import { taskShow } from "./operations/task-show.ts";

export interface OpenWorkerOptions {
  /**
   * Variables that count: `HOLDFAST_TASK`, `HOLDFAST_RUN_TOKEN`, `HOLDFAST_BOARD`, `HOLDFAST_WORKSPACE`, `HOLDFAST_PROFILE`, `HOLDFAST_HOME`.
   * @default the process's own
   */
  environment?: Readonly<Record<string, string | undefined>>;
  /**
   * Where relative paths of artifacts and attachments begin.
   * @default the process's working directory, which is the workspace in a worker that has not changed it
   */
  cwd?: string;
}

/** A task and the claim on it. Whatever is written is refused with `claim-lost` once the run has ended or was revoked. */
export interface Worker extends AsyncDisposable {
  /** Its id. */
  readonly task: string;
  readonly board: string;
  readonly profile: string;
  /** Where its files belong. */
  readonly workspace: string;
  /** Aborted when a call has said that the claim is lost: somebody else may have the task now, so stop working on it. */
  readonly lost: AbortSignal;
  /** All that a worker should know, as one text in Markdown. */
  context(): Promise<string>;
  /** The same as data; of another task of the board by its id. */
  show(id?: string): Promise<TaskDetails>;
  /** Says that the work goes on. The claim itself is kept by the supervisor, so this is for long silences, and for hearing of a lost claim. */
  heartbeat(): Promise<void>;
  /** Under the name of the profile. */
  comment(body: string, options?: { readonly task?: string }): Promise<TaskComment>;
  /** A copy of a file in the workspace, of at most 25 MiB. */
  attach(path: string, options?: { readonly name?: string; readonly contentType?: string }): Promise<TaskAttachment>;
  /** Another task on the same board. */
  create(title: string, options?: NewTask): Promise<CreatedTask>;
  /** The child waits until the parent is done or archived. Resolves to the child. */
  link(parent: string, child: string): Promise<BoardTask>;
  /** Ends the run: it is done. */
  complete(options?: TaskCompletion): Promise<BoardTask>;
  /** Ends the run: it cannot go on without help. */
  block(reason: string, options?: { readonly kind?: BlockReason }): Promise<BoardTask>;
  /** Ends the run: somebody shall look at what was done. */
  requestReview(options?: TaskHandover & { readonly reviewer?: string }): Promise<BoardTask>;
  /** Ends the run of a reviewer: whoever did the work goes on with it. */
  requestChanges(reason: string): Promise<BoardTask>;
  close(): Promise<void>;
}

const OPTIONS: Readonly<Record<keyof OpenWorkerOptions, InputType>> = { environment: ENVIRONMENT, cwd: TEXT };

/** @throws HoldfastError `invalid-input` in a process that is not a worker, `cwd-invalid` when its workspace was deleted and has no other name */
export async function openWorker(options: OpenWorkerOptions = {}): Promise<Worker> {
  checkFields("options", options, OPTIONS);
  const { environment = processEnvironment(), cwd = callerDirectory() } = options;
  const workspace = environment.HOLDFAST_WORKSPACE ?? fromCaller({ cwd }, ".");
  const app = await createApp({ environment, cwd, program: "holdfast worker" });
  const { worker } = await app.kanban();
  if (worker === null) {
    await app.close();
    throw new HoldfastError("invalid-input", "this process is not a worker: HOLDFAST_TASK and HOLDFAST_RUN_TOKEN are not set", {
      hint: "a dispatcher sets them for those that it starts, and `holdfast kanban claim` prints them for people",
    });
  }
  const gone = new AbortController();
  const run = async <Input, Output>(operation: Operation<Input, Output>, input: unknown): Promise<Output> => {
    try {
      return await runOperation(app, operation, input);
    } catch (error) {
      if (HoldfastError.isInstance(error) && error.code === "claim-lost") gone.abort(error);
      throw error;
    }
  };
  const close = async () => void (await app.close());
  return {
    task: worker.task,
    board: worker.board,
    profile: app.profile.name,
    workspace,
    lost: gone.signal,
    context: async () => (await run(taskContext, {})).text,
    show: (id) => run(taskShow, { id }),
    heartbeat: async () => void (await run(taskHeartbeat, {})),
    comment: (body, { task } = {}) => run(taskComment, { id: task, body }),
    attach: (path, more) => run(taskAttach, { ...more, path }),
    create: (title, fields) => run(taskCreate, { ...fields, title }),
    link: (parent, child) => run(taskLink, { parent, child }),
    complete: async (completion) => (await run(taskComplete, { ...completion })).task,
    block: (reason, more) => run(taskBlock, { ...more, reason }),
    requestReview: (handover) => run(taskRequestReview, { ...handover }),
    requestChanges: (reason) => run(taskRequestChanges, { reason }),
    close,
    [Symbol.asyncDispose]: close,
  };
}
