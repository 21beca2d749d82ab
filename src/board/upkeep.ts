/** @module Backup while others write, and a check of everything that must hold (K25). Neither changes the board. */
import { HoldfastError } from "../base/errors.ts";
import { unfinishedParent } from "./state.ts";
import type { StoreContext } from "./store-context.ts";

export interface UpkeepOperations {
  /** A whole and consistent copy in a new file. @throws `unsupported` on PostgreSQL, which has its own tools for it */
  backup(path: string): Promise<void>;
  /** What is wrong, in words; nothing when all is well. */
  check(): Promise<string[]>;
}

export function upkeepOperations({ database }: StoreContext): UpkeepOperations {
  const { build, dialect, execute } = database;
  const ids = async (query: { compile(): ReturnType<typeof someTasks.compile> }) =>
    (await database.read((session) => session.query(query.compile()))).map(({ id }) => id);
  const someTasks = build.selectFrom("tasks").select("tasks.id as id").orderBy("tasks.seq");
  const openRun = build.selectFrom("runs").select("runs.task").where("runs.ended_at", "is", null);

  return {
    async backup(path) {
      if (dialect !== "sqlite") {
        throw new HoldfastError("unsupported", "a board in PostgreSQL is not copied by Holdfast", {
          hint: `use pg_dump, which does it while others write`,
        });
      }
      if (path.includes("\0")) throw new HoldfastError("invalid-input", "path must not hold a NUL byte", { facts: { field: "path" } });
      await execute(`vacuum into '${path.replaceAll("'", "''")}'`);
    },
    async check() {
      const structure = dialect === "sqlite" ? await checkFile(execute) : [];
      // What cannot be read says nothing about what is in it.
      if (structure.length > 0) return structure;
      return [
        ...(await ids(someTasks.where("status", "=", "running").where("id", "not in", openRun))).map(
          (id) => `${id} is running without an open run`,
        ),
        ...(await ids(someTasks.where("status", "<>", "running").where("id", "in", openRun))).map(
          (id) => `${id} has an open run but is not running`,
        ),
        ...(await ids(someTasks.where("status", "in", ["ready", "review"]).where(unfinishedParent, "=", 1))).map(
          (id) => `${id} is free but has an unfinished parent`,
        ),
        ...(await ids(someTasks.where("status", "=", "todo").where(unfinishedParent, "=", 0))).map(
          (id) => `${id} waits though its parents are finished`,
        ),
      ];
    },
  };
}

async function checkFile(execute: StoreContext["database"]["execute"]): Promise<string[]> {
  const pages = (await execute("pragma integrity_check")).map(({ integrity_check: text }) => String(text)).filter((text) => text !== "ok");
  const keys = (await execute("pragma foreign_key_check")).map(
    ({ table, rowid, parent }) => `row ${rowid} of ${table} points to a row of ${parent} that is not there`,
  );
  return [...pages, ...keys];
}
