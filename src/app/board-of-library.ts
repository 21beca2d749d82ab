/** @module A board for programs: what `holdfast kanban` does, by the same operations. */
import type { Board } from "./board-results.ts";
import type { App } from "./create-app.ts";
import { runOperation } from "./operation.ts";
import { taskArchive } from "./operations/task-archive.ts";
import { taskAssign } from "./operations/task-assign.ts";
import { taskAttach } from "./operations/task-attach.ts";
import { taskBlock } from "./operations/task-block.ts";
import { taskComment } from "./operations/task-comment.ts";
import { taskComplete } from "./operations/task-complete.ts";
import { taskCreate } from "./operations/task-create.ts";
import { taskLink, taskUnlink } from "./operations/task-link.ts";
import { taskList } from "./operations/task-list.ts";
import { taskReopen } from "./operations/task-reopen.ts";
import { taskShow } from "./operations/task-show.ts";
import { taskUnblock } from "./operations/task-unblock.ts";

export function createBoard(app: App, board: string | undefined): Board {
  return {
    create: (title, options) => runOperation(app, taskCreate, { ...options, board, title }),
    list: (filter) => runOperation(app, taskList, { ...filter, board }),
    get: (id) => runOperation(app, taskShow, { board, id }),
    comment: (id, body) => runOperation(app, taskComment, { board, id, body }),
    attach: (id, path, options) => runOperation(app, taskAttach, { ...options, board, id, path }),
    assign: (id, assignee) => runOperation(app, taskAssign, { board, id, assignee }),
    link: (parent, child) => runOperation(app, taskLink, { board, parent, child }),
    unlink: (parent, child) => runOperation(app, taskUnlink, { board, parent, child }),
    complete: async (id, options) => (await runOperation(app, taskComplete, { ...options, board, id })).task,
    block: (id, reason, options) => runOperation(app, taskBlock, { ...options, board, id, reason }),
    unblock: (id, options) => runOperation(app, taskUnblock, { ...options, board, id }),
    archive: (id) => runOperation(app, taskArchive, { board, id }),
    reopen: (id, options) => runOperation(app, taskReopen, { ...options, board, id }),
  };
}
