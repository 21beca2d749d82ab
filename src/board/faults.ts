/** @module What can be wrong with tasks although every statement was carried out: finding it, and putting it right by legal moves (K25). */
import { HoldfastError } from "../base/errors.ts";
import type { Session } from "./database.ts";
import { BOARD } from "./events.ts";
import { endRun, handoverColumns } from "./runs.ts";
import { moveTask, promoteTask, standingOf, unfinishedParent } from "./state.ts";

export interface Fault {
  readonly task: string;
  readonly kind: keyof typeof KINDS;
}

const KINDS = {
  "running without a run": "is running without an open run",
  "run without running": "has an open run but is not running",
  "free with a parent": "is free but has an unfinished parent",
  "waiting without a parent": "waits though its parents are finished",
} as const;

export function describeFault({ task, kind }: Fault): string {
  return `${task} ${KINDS[kind]}`;
}

/** Of all tasks, or of one. */
export async function findFaults(session: Session, { task }: { task?: string } = {}): Promise<Fault[]> {
  const { build } = session;
  const all = build.selectFrom("tasks").select("tasks.id").orderBy("tasks.seq");
  const tasks = task === undefined ? all : all.where("id", "=", task);
  // By board and status, which have an index: of finished tasks there are any number.
  const ofBoards = task === undefined ? tasks.where("board", "in", build.selectFrom("boards").select("slug")) : tasks;
  const open = build.selectFrom("runs").select("runs.task").where("runs.ended_at", "is", null);
  const queries = {
    "running without a run": ofBoards.where("status", "=", "running").where("id", "not in", open),
    "run without running": tasks.where("status", "<>", "running").where("id", "in", open),
    "free with a parent": ofBoards.where("status", "in", ["ready", "review"]).where(unfinishedParent, "=", 1),
    "waiting without a parent": ofBoards.where("status", "=", "todo").where(unfinishedParent, "=", 0),
  } as const satisfies Record<Fault["kind"], unknown>;
  const found: Fault[] = [];
  for (const [kind, query] of Object.entries(queries)) {
    const rows = await session.query(query.compile());
    found.push(...rows.map(({ id }) => ({ task: id, kind: kind as Fault["kind"] })));
  }
  return found;
}

export async function mendFault(session: Session, { task: id, kind }: Fault, at: number): Promise<void> {
  const task = await standingOf(session, id);
  const board = { kind: "board", name: BOARD } as const;
  switch (kind) {
    case "running without a run":
      await moveTask(session, task, { action: "release", mover: { ...board, kind: "dispatcher" }, kind: "reclaimed", at });
      return;
    case "run without running":
      if (task.run_id === null) throw new HoldfastError("internal", `${id} has no open run`);
      await endRun(session, task.run_id, { ...handoverColumns({ error: "ended by a repair" }), outcome: "reclaimed", ended_at: at });
      return;
    case "free with a parent":
      await moveTask(session, task, { action: "hold", mover: board, kind: "held", at });
      return;
    case "waiting without a parent":
      await promoteTask(session, task, at);
  }
}
