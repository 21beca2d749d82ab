/** @module Lists the boards. */
import * as z from "zod/mini";
import type { Board } from "../../board/boards.ts";
import { type ListedBoard, ListedBoardShape } from "../board-shapes.ts";
import { defineOperation } from "../operation.ts";

export const boardList = defineOperation({
  name: "board.list",
  summary: "List the boards, with how many tasks are in each status",
  input: z.strictObject({ archived: z._default(z.boolean(), false) }),
  output: z.array(ListedBoardShape),
  async run(app, { archived }): Promise<ListedBoard[]> {
    const kanban = await app.kanban();
    const { store, worker } = kanban;
    const all = worker === null ? await store.listBoards({ archived }) : [await kanban.existingBoard()];
    const current = kanban.board();
    const listed = async (board: Board) => ({ ...board, current: board.slug === current, counts: await store.counts(board.slug) });
    return await Promise.all(all.map(listed));
  },
});
