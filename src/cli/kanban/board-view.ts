/** @module A board as lines of text: columns side by side where they fit, else one section for each status. */
import { blockMark, minuteOf, timeMark } from "../../app/task-marks.ts";
import { firstLine } from "../../base/first-line.ts";
import type { Status } from "../../board/transitions.ts";
import type { Why } from "../../dispatcher/why.ts";
import type { TerminalSize } from "../../sandbox/process.ts";
import { visible } from "../render.ts";
import { pad, shorten, widthOf } from "./width.ts";

const NARROWEST_COLUMN = 20;
const WIDEST_COLUMN = 60;
const GAP = 2;
/** Of what somebody wrote, where no terminal sets a bound. */
const LONGEST_REASON = 120;
/** Of another task. */
const LONGEST_TITLE = 40;
const HEADING_LINES = 2;
/** What else is on the screen: the notes below, which may take two lines each, and the next prompt. */
const BESIDE_COLUMNS = 6;

export interface ViewTask {
  readonly id: string;
  readonly title: string;
  readonly status: Status;
  readonly priority: number;
  readonly assignee: string | null;
  readonly deadline: number | null;
  readonly repeat: string | null;
  readonly runningSince: number | null;
  readonly why: readonly Why[];
}

export interface View {
  readonly statuses: readonly Status[];
  readonly tasks: readonly ViewTask[];
  readonly counts: Readonly<Record<Status, number>>;
  readonly more: Readonly<Partial<Record<Status, number | null>>>;
  readonly now: number;
}

export interface BoardLines {
  readonly lines: readonly string[];
  /** A status of which the screen has no room for all tasks that could be shown. */
  readonly cut: Status | null;
}

interface Column {
  readonly status: Status;
  readonly heading: string;
  readonly tasks: readonly ViewTask[];
  /** Those that are not among the tasks; null: some. */
  readonly left: number | null;
}

/** Columns are an overview and stay on the screen; sections are as long as they are. `screen` null: not a terminal. */
export function boardLines(view: View, screen: TerminalSize | null): BoardLines {
  const columns = view.statuses.map((status) => columnOf(view, status)).filter(({ tasks }) => tasks.length > 0);
  if (screen === null) return { lines: sections(columns, { width: null, now: view.now }), cut: null };
  const each = Math.floor((screen.columns - GAP * (columns.length - 1)) / Math.max(1, columns.length));
  // A single status is a list, for which a line has room enough.
  const fits = columns.length > 1 ? each >= NARROWEST_COLUMN : each >= NARROWEST_COLUMN && each < WIDEST_COLUMN;
  if (!fits) return { lines: sections(columns, { width: screen.columns, now: view.now }), cut: null };
  return sideBySide(columns, { width: Math.min(each, WIDEST_COLUMN), height: screen.rows - BESIDE_COLUMNS, now: view.now });
}

/** The most important reason in a word or two; that no dispatcher is alive concerns the whole board, so it is told elsewhere. */
export function mark(reasons: ViewTask["why"]): string {
  const [reason] = reasons.filter(({ kind }) => kind !== "no-dispatcher");
  switch (reason?.kind) {
    case undefined:
    case "triage":
      return "";
    case "waiting":
      return `waits for ${reason.parents.map(({ title }) => shorten(firstLine(title), LONGEST_TITLE)).join(", ") || "the next pass"}`;
    case "scheduled":
      return `at ${minuteOf(reason.until)}`;
    case "blocked":
      return shorten(blockMark(reason), LONGEST_REASON);
    case "review":
      return "";
    case "guarded":
      return `held until ${new Date(reason.until).toISOString().slice(11, 16)}Z`;
    case "capped":
      return `capped at ${reason.limit}`;
    case "profile-missing":
      return "no such profile";
    case "profile-not-spawnable":
      return "no worker.command";
    default:
      return reason?.kind.replaceAll("-", " ") ?? "";
  }
}

function columnOf({ tasks, counts, more }: View, status: Status): Column {
  const own = tasks.filter((task) => task.status === status);
  const left = more[status];
  const count = left === null ? `${own.length}+` : left === undefined ? own.length : counts[status];
  return { status, heading: `${status.toUpperCase()} (${count.toLocaleString("en")})`, tasks: own, left: left === undefined ? 0 : left };
}

/** How many are not shown; nothing if all are. */
function rest(left: number | null): string[] {
  return left === 0 ? [] : [`… and ${left === null ? "more" : `${left.toLocaleString("en")} more`}`];
}

function sideBySide(columns: readonly Column[], size: { width: number; height: number; now: number }): BoardLines {
  const { width } = size;
  const cells = columns.map((column) => {
    const { lines, hidden } = cards(column, size);
    const left = column.left === null ? null : column.left + hidden;
    return {
      status: hidden > 0 ? column.status : null,
      lines: [shorten(column.heading, width), "─".repeat(width), ...lines, ...rest(left).map((text) => shorten(text, width))],
    };
  });
  const height = Math.max(0, ...cells.map(({ lines }) => lines.length));
  const lines = Array.from({ length: height }, (_, row) =>
    cells
      .map((cell) => pad(cell.lines[row] ?? "", width))
      .join(" ".repeat(GAP))
      .trimEnd(),
  );
  return { lines, cut: cells.find(({ status }) => status !== null)?.status ?? null };
}

/** As many as the screen has room for below the heading, and one at least. */
function cards({ tasks, left }: Column, { width, height, now }: { width: number; height: number; now: number }) {
  const all = tasks.map((task) => [...card(task, { width, now }), ""]);
  const most = height - HEADING_LINES;
  if (all.flat().length + rest(left).length <= most) return { lines: all.flat(), hidden: 0 };
  const lines = all.shift() ?? [];
  while (all[0] !== undefined && lines.length + all[0].length < most) lines.push(...(all.shift() ?? []));
  return { lines, hidden: all.length };
}

function card(task: ViewTask, { width, now }: { width: number; now: number }): string[] {
  const top = `${task.id}${task.priority === 0 ? "" : ` ${priority(task)}`}${task.assignee === null ? "" : ` ${task.assignee}`}`;
  const why = mark(task.why);
  const lines = [top, visible(task.title), timeMark(task, now), ...(why === "" ? [] : twoLines(`! ${visible(why)}`, width))];
  return lines.filter((line) => line !== "").map((line) => shorten(line, width));
}

/** A column is narrow, and behind who has blocked a task stands why. */
function twoLines(text: string, width: number): string[] {
  if (widthOf(text) <= width) return [text];
  const at = shorten(text, width).lastIndexOf(" ");
  return at <= 1 ? [text] : [text.slice(0, at), `  ${text.slice(at + 1)}`];
}

function sections(columns: readonly Column[], { width, now }: { width: number | null; now: number }): string[] {
  const all = columns.flatMap(({ tasks }) => tasks);
  const widest = (cell: (task: ViewTask) => string) => Math.max(0, ...all.map((task) => widthOf(cell(task))));
  const widths = { priority: widest(priority), assignee: widest(({ assignee }) => assignee ?? "-") };
  const row = (task: ViewTask) => {
    const why = mark(task.why);
    const time = timeMark(task, now);
    const before = `  ${task.id}  ${widths.priority === 0 ? "" : `${pad(priority(task), widths.priority)}  `}`;
    const start = `${before}${pad(task.assignee ?? "-", widths.assignee)}  `;
    const end = `${time === "" ? "" : `  (${time})`}${why === "" ? "" : `  ! ${visible(why)}`}`;
    if (width === null) return `${start}${visible(task.title)}${end}`;
    return shorten(`${start}${shorten(visible(task.title), titleWidth(width - widthOf(start), end))}${end}`, width);
  };
  return columns.flatMap(({ heading, tasks, left }, index) => [
    ...(index === 0 ? [] : [""]),
    heading,
    ...tasks.map(row),
    ...rest(left).map((text) => `  ${text}`),
  ]);
}

/** A long title leaves half of the room to what comes behind it. */
function titleWidth(room: number, end: string): number {
  return Math.max(1, Math.ceil(room / 2), room - widthOf(end));
}

function priority({ priority: value }: ViewTask): string {
  return value === 0 ? "" : `P${value}`;
}
