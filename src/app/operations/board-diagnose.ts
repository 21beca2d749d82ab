/** @module Says what is wrong with a board, and what to do about it (K32). */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { defineOperation } from "../operation.ts";
import { BOARD_RULES, RESTORE } from "../upkeep/board-rules.ts";
import { type Diagnostic, SEVERITIES } from "../upkeep/diagnostic.ts";
import { boardFacts } from "../upkeep/facts.ts";
import { TASK_RULES } from "../upkeep/task-rules.ts";

export const boardDiagnose = defineOperation({
  name: "board.diagnose",
  summary: "Say what is wrong with a board, the worst first, and what to do about it",
  input: z.strictObject({
    board: z.optional(z.string()),
    /** Only these and worse ones. */
    severity: z._default(z.enum(SEVERITIES), "warning"),
    task: z.optional(z.string()),
  }),
  output: z.array(
    z.object({ rule: z.string(), severity: z.enum(SEVERITIES), task: z.nullable(z.string()), text: z.string(), todo: z.string() }),
  ),
  async run(app, { board: wanted, severity, task }): Promise<Diagnostic[]> {
    try {
      const kanban = await app.kanban();
      kanban.person("looking for what is wrong with a board");
      const board = task === undefined ? (await kanban.existingBoard(wanted)).slug : kanban.board((await kanban.store.getTask(task)).board);
      const facts = await boardFacts(app, board);
      const found = [...BOARD_RULES, ...TASK_RULES].flatMap((rule) => rule(facts));
      const rank = ({ severity: each }: Diagnostic) => SEVERITIES.indexOf(each);
      return found
        .filter((each) => rank(each) >= SEVERITIES.indexOf(severity) && (task === undefined || each.task === task))
        .sort((a, b) => rank(b) - rank(a));
    } catch (error) {
      if (!HoldfastError.isInstance(error) || error.code !== "board-damaged") throw error;
      return [{ rule: "damaged", severity: "critical", task: null, text: error.message, todo: RESTORE }];
    }
  },
});
