/** @module A board as lines of text: columns side by side where they fit, else one section for each status. */
import { blockMark, timeMark } from "../../app/task-marks.ts";
import type { Status } from "../../board/transitions.ts";
import type { Why } from "../../dispatcher/why.ts";
import { visible } from "../render.ts";
import { pad, shorten, widthOf } from "./width.ts";

const NARROWEST_COLUMN = 20;
const WIDEST_COLUMN = 40;
const GAP = 2;
/** Of what somebody wrote, where no terminal sets a bound. */
const LONGEST_REASON = 120;

export interface ViewTask {
  readonly id: string;
  readonly title: string;
  readonly status: Status;
  readonly priority: number;
  readonly assignee: string | null;
  readonly deadline: number | null;
  readonly repeat: string | null;
  readonly why: readonly Why[];
}

export interface View {
  readonly statuses: readonly Status[];
  readonly tasks: readonly ViewTask[];
  readonly counts: Readonly<Record<Status, number>>;
  readonly more: Readonly<Partial<Record<Status, number | null>>>;
  readonly now: number;
}

interface Column {
  readonly heading: string;
  readonly tasks: readonly ViewTask[];
  readonly rest: string | null;
}

/** `width` null: not a terminal. */
export function boardLines(view: View, width: number | null): string[] {
  const columns = view.statuses.map((status) => columnOf(view, status)).filter(({ tasks }) => tasks.length > 0);
  const each = width === null ? 0 : Math.floor((width - GAP * (columns.length - 1)) / Math.max(1, columns.length));
  const { now } = view;
  return each >= NARROWEST_COLUMN ? sideBySide(columns, { width: Math.min(each, WIDEST_COLUMN), now }) : sections(columns, { width, now });
}

/** The most important reason in a word or two; that no dispatcher is alive concerns the whole board, so it is told elsewhere. */
export function mark(reasons: ViewTask["why"]): string {
  const [reason] = reasons.filter(({ kind }) => kind !== "no-dispatcher");
  switch (reason?.kind) {
    case undefined:
    case "triage":
      return "";
    case "waiting":
      return `waits for ${reason.parents.map(({ id }) => id).join(", ") || "the next pass"}`;
    case "scheduled":
      return `at ${new Date(reason.until).toISOString().slice(0, 16)}Z`;
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
  const rest = left === undefined ? null : `… and ${left === null ? "more" : `${left.toLocaleString("en")} more`}`;
  return { heading: `${status.toUpperCase()} (${count.toLocaleString("en")})`, tasks: own, rest };
}

function sideBySide(columns: readonly Column[], { width, now }: { width: number; now: number }): string[] {
  const cells = columns.map(({ heading, tasks, rest }) => [
    shorten(heading, width),
    "─".repeat(width),
    ...tasks.flatMap((task) => [...card(task, { width, now }), ""]),
    ...(rest === null ? [] : [shorten(rest, width)]),
  ]);
  const height = Math.max(0, ...cells.map((column) => column.length));
  return Array.from({ length: height }, (_, row) =>
    cells
      .map((column) => pad(column[row] ?? "", width))
      .join(" ".repeat(GAP))
      .trimEnd(),
  );
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
  return columns.flatMap(({ heading, tasks, rest }, index) => [
    ...(index === 0 ? [] : [""]),
    heading,
    ...tasks.map(row),
    ...(rest === null ? [] : [`  ${rest}`]),
  ]);
}

/** A long title leaves half of the room to what comes behind it. */
function titleWidth(room: number, end: string): number {
  return Math.max(1, Math.ceil(room / 2), room - widthOf(end));
}

function priority({ priority: value }: ViewTask): string {
  return value === 0 ? "" : `P${value}`;
}
