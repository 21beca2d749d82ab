/**
 * @module What sandboxes have had a hand in: tasks, and directories of the host. Whoever starts a worker on the host asks here, since trust
 * must not rise on the way (K4, K29).
 */
import { sql } from "kysely";
import { first, type Session, statement } from "./database.ts";
import type { SandboxPlaceTable } from "./schema.ts";
import { moverOf, standingOf } from "./state.ts";
import type { StoreContext } from "./store-context.ts";
import { checkLine } from "./task-input.ts";

export interface SandboxPlace {
  /** Without links. */
  readonly path: string;
  /** Whose worker was in the sandbox. */
  readonly task: string;
}

export interface NewSandboxPlace {
  readonly path: string;
  /** Holdfast made it for the task alone, below a directory of the user's that it says nothing about. */
  readonly managed: boolean;
}

export interface SandboxPlaceOperations {
  /** Before a worker of the task begins in a sandbox that can write to these directories of the host. @throws `claim-lost` */
  enterSandbox(task: string, token: string, places: readonly NewSandboxPlace[]): Promise<void>;
  /** One that is among these directories, or was named and lies in `around`; null when there is none. */
  sandboxPlace(where: { readonly among: readonly string[]; readonly around: string }): Promise<SandboxPlace | null>;
}

const MARK = statement<{ id: string }>((build, hole) =>
  build.updateTable("tasks").set({ from_sandbox: 1 }).where("id", "=", hole("id")).where("from_sandbox", "=", 0),
);

/** Once it was named, it stays named. */
const INSERT = statement<SandboxPlaceTable>((build, hole) =>
  build
    .insertInto("sandbox_places")
    .values({ path: hole("path"), managed: hole("managed"), task: hole("task"), created_at: hole("created_at") })
    .onConflict((conflict) => conflict.column("path").doUpdateSet({ managed: sql<number>`sandbox_places.managed * excluded.managed` })),
);

const NAMED = statement<Record<never, never>, SandboxPlace>((build) =>
  build.selectFrom("sandbox_places").select(["path", "task"]).where("managed", "=", 0).orderBy("path"),
);

/** In a transaction of others. */
export async function markFromSandbox(session: Session, task: string): Promise<void> {
  await session.run(MARK, { id: task });
}

export function sandboxPlaceOperations({ database, clock }: StoreContext): SandboxPlaceOperations {
  return {
    enterSandbox: (id, token, places) =>
      database.write(async (session) => {
        const task = await standingOf(session, id);
        await moverOf(session, task, { token });
        await markFromSandbox(session, id);
        for (const { path, managed } of places) {
          const row = { path: checkLine("path", path), managed: managed ? 1 : 0, task: id, created_at: clock.now() };
          await session.run(INSERT, row);
        }
      }),
    sandboxPlace: ({ among, around }) =>
      database.read(async (session) => {
        const query = session.build.selectFrom("sandbox_places").select(["path", "task"]).where("path", "in", among).limit(1);
        const found = await first(session.query(query.compile()));
        const inside = around.endsWith("/") ? around : `${around}/`;
        return found ?? (await session.all(NAMED, {})).find(({ path }) => path.startsWith(inside)) ?? null;
      }),
  };
}
