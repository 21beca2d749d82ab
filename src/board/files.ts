/** @module Where the files of the boards are: everything beside the database. */
import { join } from "node:path";

export interface BoardFiles {
  /** `kanban` in the home of `default`: all profiles share it. */
  readonly root: string;
  /** The database, unless another one is configured. */
  readonly database: string;
  /** The slug of the board that `boards switch` chose. */
  readonly current: string;
  /** Everything of one board. */
  board(slug: string): string;
  /** The only directory in which workspaces are made and removed by us. */
  workspaces(slug: string): string;
  workspace(slug: string, task: string): string;
  attachments(slug: string, task: string): string;
  logs(slug: string): string;
  log(slug: string, task: string): string;
}

/** Slugs and ids of tasks are plain by the rules of the board, so they are safe as parts of a path. */
export function boardFiles(home: string): BoardFiles {
  const root = join(home, "kanban");
  const board = (slug: string) => join(root, "boards", slug);
  const workspaces = (slug: string) => join(board(slug), "workspaces");
  const logs = (slug: string) => join(board(slug), "logs");
  return {
    root,
    database: join(root, "board.db"),
    current: join(root, "current"),
    board,
    workspaces,
    workspace: (slug, task) => join(workspaces(slug), task),
    attachments: (slug, task) => join(board(slug), "attachments", task),
    logs,
    log: (slug, task) => join(logs(slug), `${task}.log`),
  };
}
