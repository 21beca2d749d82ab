/** @module The boards of this installation, opened for one process: the store, its files, and in whose name something is done. */

import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import type { Clock } from "../base/clock.ts";
import { HoldfastError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { makeDirectory } from "../base/make-directory.ts";
import { readStateFile } from "../base/regular-file.ts";
import type { Author } from "../board/author.ts";
import type { Board } from "../board/boards.ts";
import { type BoardFiles, boardFiles } from "../board/files.ts";
import { isUrl, readLocation } from "../board/location.ts";
import { DEFAULT_BOARD, parseSlug } from "../board/slug.ts";
import type { Actor } from "../board/state.ts";
import { openStore, type Store } from "../board/store.ts";
import type { Environment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { KanbanValues } from "../dispatcher/settings.ts";
import { isPersonWithClaim, WAY_BACK } from "./worker-identity.ts";

/** The variables that tell a worker who it is (K28). */
export interface WorkerIdentity {
  readonly task: string;
  readonly token: string;
  readonly board: string;
}

export interface Kanban extends AsyncDisposable {
  readonly store: Store;
  /** As `openStore` takes it, with a password if there is one. */
  readonly database: string;
  readonly files: BoardFiles;
  readonly options: KanbanValues;
  /** Set in a worker: then it acts as its run, and sees only its board. */
  readonly worker: WorkerIdentity | null;
  /** `--board` > HOLDFAST_KANBAN_BOARD > the switched one > default. A worker has its own (K5). @throws `move-refused` for a worker that asks for another */
  board(asked?: string | undefined): string;
  /** The same as a board that is there. @throws `board-not-found`, with what chose it and the way out */
  existingBoard(asked?: string | undefined): Promise<Board>;
  /** Who acts on a task: in a worker its run, otherwise the profile. @throws `move-refused` for a worker and a task that is not its own */
  actorFor(task: string): Actor;
  /** Who writes: comments, new tasks, links. */
  readonly author: Author;
  /** The name of a person who acts. @throws `move-refused` in a worker, which may not do what is for people and orchestrators */
  person(what: string): string;
}

export interface KanbanOptions {
  /** The home of `default`. */
  readonly root: string;
  readonly profile: string;
  readonly environment: Environment;
  /** Of `default`. */
  readonly config: LoadedConfig;
  readonly clock: Clock;
  readonly log: Logger;
}

/** So long a worker waits for a database that restarts: what it has to say, above all its last word, would cost a whole run. */
const WORKER_PATIENCE_MS = 60_000;

export async function openKanban({ root, profile, environment, config, clock, log }: KanbanOptions): Promise<Kanban> {
  const files = boardFiles(root);
  const options = config.values.kanban;
  const location = databaseLocation(options.database, { root, files });
  if (!isUrl(location)) await makeDirectory(dirname(location));
  const worker: WorkerIdentity | null = workerIdentity(environment);
  const onWait = (error: HoldfastError) => log.warn(`${error.message}; trying again for up to ${WORKER_PATIENCE_MS / 1000} s`);
  const store = await openStore(location, { clock, ...(worker !== null && { patience: { limitMs: WORKER_PATIENCE_MS, onWait } }) });
  const notForWorkers = (what: string, why: string) =>
    new HoldfastError("move-refused", `${what} is out of reach here: ${why}`, { hint: whyWorker(environment) });
  const choice = chooseBoard(environment, files);
  const board: Kanban["board"] = (asked) => {
    // A name that is none is an error, and never a reason to take the next one.
    if (worker === null) return parseSlug(asked ?? choice.slug);
    if (asked === undefined || parseSlug(asked) === worker.board) return worker.board;
    throw notForWorkers(`the board ${asked}`, `a worker sees only its own board, ${worker.board}`);
  };
  return {
    store,
    database: location,
    files,
    options,
    worker,
    board,
    async existingBoard(asked) {
      try {
        return await store.getBoard(board(asked));
      } catch (error) {
        if (asked !== undefined || worker !== null || !HoldfastError.isInstance(error) || error.code !== "board-not-found") throw error;
        throw new HoldfastError("board-not-found", `${error.message} (chosen by ${choice.by})`, {
          hint: choice.wayOut,
          facts: error.facts,
          cause: error,
        });
      }
    },
    actorFor(task) {
      if (worker === null) return { by: profile };
      if (task === worker.task) return { token: worker.token };
      throw notForWorkers(`task ${task}`, `a worker acts on its own task only, ${worker.task}`);
    },
    author: worker === null ? { by: profile } : { task: worker.task, token: worker.token },
    person(what) {
      if (worker === null) return profile;
      throw notForWorkers(what, "that is for people and orchestrators");
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

function databaseLocation(configured: string | null, { root, files }: { root: string; files: BoardFiles }): string {
  if (configured === null) return files.database;
  const location = readLocation(configured);
  return isUrl(location) ? location : resolve(root, location.replace(/^~(?=\/)/, homedir()));
}

interface BoardChoice {
  readonly slug: string;
  readonly by: string;
  readonly wayOut: string;
}

function chooseBoard({ HOLDFAST_KANBAN_BOARD: variable }: Environment, files: BoardFiles): BoardChoice {
  if (variable?.trim()) return { slug: variable, by: "HOLDFAST_KANBAN_BOARD", wayOut: "correct the variable, or give --board SLUG" };
  const switched = readStateFile(files.current)?.trim();
  const wayOut = "`holdfast kanban boards switch default` chooses another one, and --board SLUG does for one command";
  return { slug: switched || DEFAULT_BOARD, by: "`holdfast kanban boards switch`", wayOut };
}

/** @throws `invalid-input` for half of one: a worker that has lost a variable on the way would act in the name of a person */
function workerIdentity({ HOLDFAST_TASK: task, HOLDFAST_RUN_TOKEN: token, HOLDFAST_RUN: run, HOLDFAST_BOARD: board }: Environment) {
  if (task && token) return { task, token, board: board || DEFAULT_BOARD };
  if (!task && !token && !run) return null;
  const missing = task ? "HOLDFAST_RUN_TOKEN" : "HOLDFAST_TASK";
  throw new HoldfastError("invalid-input", `this is a part of a worker's variables, without ${missing}, so it is not known who acts`, {
    hint: "hand all HOLDFAST_ variables of the worker on to what it starts, or, as a person, unset HOLDFAST_TASK, HOLDFAST_RUN and HOLDFAST_RUN_TOKEN",
    facts: { missing },
  });
}

function whyWorker(environment: Environment): string {
  const why = "it acts as a worker because HOLDFAST_TASK and HOLDFAST_RUN_TOKEN are set";
  return isPersonWithClaim(environment) ? `${why}; ${WAY_BACK}` : why;
}
