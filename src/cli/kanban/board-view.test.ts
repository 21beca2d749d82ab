import { expect, test } from "vitest";
import type { Status } from "../../board/transitions.ts";
import type { Why } from "../../dispatcher/why.ts";
import { boardLines, type View, type ViewTask } from "./board-view.ts";
import { widthOf } from "./width.ts";

const task = (id: string, status: Status, fields: Partial<ViewTask> = {}): ViewTask => ({
  ...{ id, status, title: `Title of ${id}`, priority: 0, assignee: null, why: [] },
  ...fields,
});
const waiting = { kind: "waiting", parents: [{ id: "t_1", title: "x", status: "ready" }], text: "", fix: null } as Why;
const view: View = {
  statuses: ["todo", "ready", "done"],
  tasks: [
    task("t_2", "todo", { why: [waiting] }),
    task("t_1", "ready", { priority: 7, assignee: "writer" }),
    task("t_3", "done", { title: "evil\u001b[2Jtitle that is far too long for a column of that width" }),
  ],
  counts: { todo: 1, ready: 1, done: 100_000 } as View["counts"],
  more: { done: 99_999 },
};

test("K32 columns stand side by side where they fit", () => {
  expect(boardLines(view, 70)).toEqual([
    "TODO (1)                READY (1)               DONE (100,000)",
    `${"─".repeat(22)}  ${"─".repeat(22)}  ${"─".repeat(22)}`,
    "t_2                     t_1 P7 writer           t_3",
    "Title of t_2            Title of t_1            evil\\u001b[2Jtitle th…",
    "! waits for t_1",
    "                                                … and 99,999 more",
  ]);
  for (const width of [64, 80, 132, 200]) expect(Math.max(...boardLines(view, width).map(widthOf))).toBeLessThanOrEqual(width);
});

test("K32 a narrow terminal, or none, gets a section for each status", () => {
  expect(boardLines(view, null)).toEqual([
    "TODO (1)",
    "  t_2      -       Title of t_2  ! waits for t_1",
    "",
    "READY (1)",
    "  t_1  P7  writer  Title of t_1",
    "",
    "DONE (100,000)",
    "  t_3      -       evil\\u001b[2Jtitle that is far too long for a column of that width",
    "  … and 99,999 more",
  ]);
  const narrow = boardLines(view, 40);
  expect(narrow).toContain("  t_3      -       evil\\u001b[2Jtitle t…");
  expect(Math.max(...narrow.map(widthOf))).toBeLessThanOrEqual(40);
});

test("K32 an empty board has no lines, and a filter that keeps from counting says so", () => {
  expect(boardLines({ ...view, tasks: [] }, 80)).toEqual([]);
  expect(boardLines({ ...view, more: { done: null } }, null)).toContain("  … and more");
});
