import { expect, test } from "vitest";
import type { BlockKind } from "../../board/schema.ts";
import type { Status } from "../../board/transitions.ts";
import type { Why } from "../../dispatcher/why.ts";
import { boardLines, type View, type ViewTask } from "./board-view.ts";
import { widthOf } from "./width.ts";

const task = (id: string, status: Status, fields: Partial<ViewTask> = {}): ViewTask => ({
  ...{ id, status, title: `Title of ${id}`, priority: 0, assignee: null, deadline: null, repeat: null, runningSince: null, why: [] },
  ...fields,
});
const waiting = { kind: "waiting", parents: [{ id: "t_1", title: "Write it\nnow", status: "ready" }], text: "", fix: null } as Why;
const view: View = {
  statuses: ["todo", "ready", "done"],
  tasks: [
    task("t_2", "todo", { why: [waiting] }),
    task("t_1", "ready", { priority: 7, assignee: "writer" }),
    task("t_3", "done", { title: "evil\u001b[2Jtitle that is far too long for a column of that width" }),
  ],
  counts: { todo: 1, ready: 1, done: 100_000 } as View["counts"],
  more: { done: 99_999 },
  now: Date.UTC(2026, 10, 16),
};

const shown = (given: View, columns: number | null, rows = 1000) => boardLines(given, columns === null ? null : { columns, rows }).lines;

test("K32 columns stand side by side where they fit", () => {
  expect(shown(view, 70)).toEqual([
    "TODO (1)                READY (1)               DONE (100,000)",
    `${"─".repeat(22)}  ${"─".repeat(22)}  ${"─".repeat(22)}`,
    "t_2                     t_1 P7 writer           t_3",
    "Title of t_2            Title of t_1            evil\\u001b[2Jtitle th…",
    "! waits for Write it …",
    "                                                … and 99,999 more",
  ]);
  for (const width of [64, 80, 132, 200]) expect(Math.max(...shown(view, width).map(widthOf))).toBeLessThanOrEqual(width);
});

test("K32 a narrow terminal, or none, gets a section for each status", () => {
  expect(shown(view, null)).toEqual([
    "TODO (1)",
    "  t_2      -       Title of t_2  ! waits for Write it …",
    "",
    "READY (1)",
    "  t_1  P7  writer  Title of t_1",
    "",
    "DONE (100,000)",
    "  t_3      -       evil\\u001b[2Jtitle that is far too long for a column of that width",
    "  … and 99,999 more",
  ]);
  const narrow = shown(view, 40);
  expect(narrow).toContain("  t_3      -       evil\\u001b[2Jtitle t…");
  expect(Math.max(...narrow.map(widthOf))).toBeLessThanOrEqual(40);
});

test("K32 an empty board has no lines, and a filter that keeps from counting says so", () => {
  expect(shown({ ...view, tasks: [] }, 80)).toEqual([]);
  expect(shown({ ...view, more: { done: null } }, null)).toContain("  … and more");
});

const blocked = (blockKind: BlockKind | null, reason: string | null) =>
  ({ kind: "blocked", by: "writer", reason, blockKind, text: "", fix: null }) as Why;

test("K12 K32 of a blocked task it says who blocked it and why, cut to what fits", () => {
  const lines = (fields: Partial<ViewTask>, width: number | null) =>
    shown({ ...view, statuses: ["blocked"], tasks: [task("t_9", "blocked", fields)], counts: { blocked: 1 } as View["counts"] }, width);
  const asked = { why: [blocked("needs_input", "which logo\u001b[2J?\nmore")] };
  expect(lines(asked, null)).toContain("  t_9  -  Title of t_9  ! by writer (needs_input): which logo\\u001b[2J? …");
  expect(lines(asked, 40)).toEqual(expect.arrayContaining(["! by writer (needs_input): which", "  logo\\u001b[2J? …"]));
  expect(lines({ why: [blocked(null, null)] }, null)).toContain("  t_9  -  Title of t_9  ! by writer");
  const gaveUp = { why: [blocked("gave_up", "exit status 4\nhello\nno compiler")] };
  expect(lines(gaveUp, null)).toContain("  t_9  -  Title of t_9  ! given up: exit status 4: … no compiler");
  const endless = { title: "T".repeat(200), why: [blocked("capability", "x".repeat(500))] };
  for (const width of [19, 20, 40, 80, 300]) expect(Math.max(...lines(endless, width).map(widthOf))).toBeLessThanOrEqual(width);
  expect(lines(endless, null).at(-1)?.length).toBeLessThan(400);
  // In sections the title leaves room for it.
  const both = shown({ ...view, statuses: ["blocked", "ready"], tasks: [...view.tasks, task("t_9", "blocked", endless)] }, 41);
  expect(both.find((line) => line.includes("t_9"))).toMatch(/^ {2}t_9 .* T+… {2}! by/);
});

test("K10 K32 a deadline and a repetition have a mark, as long as the task is not finished", () => {
  const lines = (fields: Partial<ViewTask>, width: number | null, status: Status = "ready") =>
    shown({ ...view, statuses: [status], tasks: [task("t_9", status, fields)], counts: { ready: 1, done: 1 } as View["counts"] }, width);
  const due = { deadline: Date.UTC(2026, 10, 20, 12), repeat: "every 1d" };
  expect(lines(due, null)).toContain("  t_9  -  Title of t_9  (due 2026-11-20 12:00Z, repeats)");
  expect(lines(due, 40)).toContain("due 2026-11-20 12:00Z, repeats");
  expect(lines({ deadline: view.now }, null)).toContain("  t_9  -  Title of t_9  (overdue)");
  expect(lines(due, null, "done").join()).not.toContain("due");
});

test("K32 columns use the width and end with the screen, and say what it has no room for", () => {
  const many = (status: Status, count: number) => Array.from({ length: count }, (_, index) => task(`t_${status}${index}`, status));
  const full: View = {
    ...view,
    tasks: [...many("todo", 2), ...many("ready", 140), ...many("done", 10)],
    counts: { todo: 2, ready: 140, done: 100 } as View["counts"],
    more: { done: 90 },
  };
  const { lines, cut } = boardLines(full, { columns: 160, rows: 24 });
  expect(lines.length).toBeLessThanOrEqual(18);
  expect(lines[1]).toBe(`${"─".repeat(52)}  ${"─".repeat(52)}  ${"─".repeat(52)}`);
  expect(lines.at(-1)?.trim()).toMatch(/^… and 135 more +… and 95 more$/);
  expect(cut).toBe("ready");
  // One at least is shown, however low the window is.
  expect(shown(full, 160, 3).join()).toContain("t_ready0");
  const few: View = { ...full, tasks: [...many("todo", 2), ...many("ready", 6)], more: {} };
  expect(boardLines(few, { columns: 160, rows: 26 })).toMatchObject({ cut: null });
  expect(boardLines(few, { columns: 160, rows: 25 })).toMatchObject({ cut: "ready" });
});

test("K32 a single status is a list as wide as the screen, and as long as it is", () => {
  const tasks = Array.from({ length: 140 }, (_, index) => task(`t_${index}`, "ready", { title: "A title of some length ".repeat(4) }));
  const { lines, cut } = boardLines({ ...view, tasks, more: {} }, { columns: 160, rows: 24 });
  expect(lines).toHaveLength(141);
  expect(lines[1]?.trim()).toMatch(/^t_0 +- +A title.*length$/);
  expect(cut).toBeNull();
});

test("K32 a task that runs says for how long", () => {
  const running = task("t_9", "running", { runningSince: view.now - 754_000, deadline: view.now + 60_000 });
  const of = { ...view, statuses: ["running"], tasks: [running], counts: { running: 1 } as View["counts"] } as View;
  expect(shown(of, null)).toContain("  t_9  -  Title of t_9  (for 12m 34s, due 2026-11-16 00:01Z)");
});
