/** @module How many runs may be open at once, counted while a task is claimed (K15). */
import { first, type Session, statement } from "./database.ts";
import { lockCaps } from "./locks.ts";
import { refusal } from "./refusal.ts";
import type { Standing } from "./state.ts";

/** The most runs that may be open, this one included. Null: no limit. */
export interface Caps {
  readonly perProfile: number | null;
  readonly perBoard: number | null;
  readonly all: number | null;
}

interface OpenCounts {
  readonly all: number;
  readonly board: number;
  readonly profile: number;
}

const OPEN_RUNS = statement<{ board: string; profile: string }, OpenCounts>(
  (build, hole) =>
    build
      .selectFrom("runs")
      .select(({ fn, case: when }) => [
        fn.countAll<number>().as("all"),
        fn.count<number>(when().when("board", "=", hole("board")).then(1).end()).as("board"),
        fn.count<number>(when().when("profile", "=", hole("profile")).then(1).end()).as("profile"),
      ])
      .where("ended_at", "is", null) as never,
);

/** @throws `move-refused` when one of them is reached */
export async function keepCaps(session: Session, task: Standing, { caps, profile }: { caps: Caps; profile: string }): Promise<void> {
  const { perProfile, perBoard, all } = caps;
  if (perProfile === null && perBoard === null && all === null) return;
  await lockCaps(session);
  const open = await first(session.all(OPEN_RUNS, { board: task.board, profile }));
  const reached = (count: number | undefined, most: number | null) => most !== null && (count ?? 0) >= most;
  if (reached(open?.profile, perProfile)) throw refusal(task, "claim", `${profile} already has ${open?.profile} running`);
  if (reached(open?.board, perBoard)) throw refusal(task, "claim", `${open?.board} already run on the board ${task.board}`);
  if (reached(open?.all, all)) throw refusal(task, "claim", `${open?.all} already run on all boards`);
}
