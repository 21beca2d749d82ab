/**
 * @module What a claim writes: a run, the new state of its task, and the event. Where others write at the same time these are one statement:
 * each way to the server and back is time in which they wait, and most of what a claim costs.
 */
import { sql } from "kysely";
import { first, type Holes, type Session, statement } from "./database.ts";
import { insertInto, insertRun, type NewRun } from "./runs.ts";
import { applyMove, changedUnderLock, type Move, type NewState, type Standing, setState } from "./state.ts";

type RunValues = { [Name in keyof NewRun as `run_${Name}`]: NewRun[Name] };

interface EventValues {
  event_board: string;
  kind: string;
  actor: string;
  payload: string;
  at: number;
}

const OPEN = statement<NewState & RunValues & EventValues, { id: number }>((build, hole) => {
  const ofRun = ((name: keyof NewRun) => hole(`run_${name}`)) as Holes<NewRun>;
  const typed = (name: keyof EventValues | "id", type: "text" | "bigint") => sql`cast(${hole(name)} as ${sql.raw(type)})`;
  return build
    .with("opened", () => insertInto(build, ofRun))
    .with("moved", () => setState(build, hole).returning("tasks.id as task"))
    .with("told", (db) =>
      db
        .insertInto("events")
        .columns(["board", "task", "run", "kind", "actor", "payload", "created_at"])
        .expression(
          db
            .selectFrom("opened")
            .select((from) => [
              typed("event_board", "text").as("board"),
              typed("id", "text").as("task"),
              from.ref("opened.id").as("run"),
              typed("kind", "text").as("kind"),
              typed("actor", "text").as("actor"),
              typed("payload", "text").as("payload"),
              typed("at", "bigint").as("created_at"),
            ]),
        ),
    )
    .selectFrom(["opened", "moved"])
    .select("opened.id");
});

/** The id of the run. The task then is as the move says. */
export async function openRun(session: Session, task: Standing, { run, move }: { run: NewRun; move: Move }): Promise<number> {
  if (session.alone) {
    const id = await insertRun(session, run);
    await applyMove(session, task, { ...move, event: { ...move.event, run: id } });
    return id;
  }
  const { state, event } = move;
  const ofRun = Object.fromEntries(Object.entries(run).map(([name, value]) => [`run_${name}`, value])) as unknown as RunValues;
  const told = { event_board: event.board, kind: event.kind, actor: event.actor, payload: JSON.stringify(event.payload), at: event.at };
  const opened = await first(session.all(OPEN, { ...state, ...ofRun, ...told, id: task.id, old: task.status }));
  if (opened === undefined) throw changedUnderLock(task);
  Object.assign(task, state);
  return opened.id;
}
