/** @module What a dispatcher that goes says of the workers that stay: whose they are now. */
import type { App } from "../../app/create-app.ts";
import { workerEnd } from "../../app/worker-end.ts";
import type { DispatchResult } from "../../dispatcher/result.ts";
import type { Terminal } from "../render.ts";

export interface WorkersLeft {
  /** After each pass, which tells who leads the board. */
  pass(board: string, result: DispatchResult): void;
  /** When this dispatcher has resigned. */
  tell(): Promise<void>;
}

export function createWorkersLeft(app: App, terminal: Terminal): WorkersLeft {
  const led = new Set<string>();
  /** Not asked for a board that was led here: another one may have taken it up in this moment, and it has what was left to it. */
  const isLedByAnother = async (board: string) => {
    if (led.has(board)) return false;
    const leader = await (await app.kanban()).store.leader(board);
    return leader !== null && leader.expiresAt > app.clock.now();
  };
  return {
    pass(board, { skipped_locked: waits }) {
      if (waits) led.delete(board);
      else led.add(board);
    },
    async tell() {
      const { store } = await app.kanban();
      const left = { ours: 0, others: 0 };
      for (const { slug: board } of await store.listBoards()) {
        const open = await store.runs({ board, open: true });
        const workers = open.filter((run) => run.worker !== null && workerEnd(run) === null).length;
        left[workers > 0 && (await isLedByAnother(board)) ? "others" : "ours"] += workers;
      }
      if (left.ours > 0) terminal.note(`${goOn(left.ours)}; the next dispatcher takes over`);
      if (left.others > 0) terminal.note(`${goOn(left.others)} under another dispatcher, which leads the board`);
    },
  };
}

function goOn(workers: number): string {
  return workers === 1 ? "1 worker goes on" : `${workers} workers go on`;
}
