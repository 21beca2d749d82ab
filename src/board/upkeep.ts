/** @module Backup while others write, a check of everything that must hold, and its repair (K25). */
import { rm } from "node:fs/promises";
import { HoldfastError } from "../base/errors.ts";
import { makePrivateFile } from "../base/private-file.ts";
import { isDamage, isMendable } from "./damage.ts";
import { describeFault, findFaults, mendFault } from "./faults.ts";
import { lockTask } from "./locks.ts";
import type { StoreContext } from "./store-context.ts";

export interface UpkeepOperations {
  /** A whole and consistent copy in a new file. @throws `unsupported` on PostgreSQL, which has its own tools for it */
  backup(path: string): Promise<void>;
  /** What is wrong, in words; nothing when all is well. It changes nothing. */
  check(): Promise<string[]>;
  /** Puts right what is wrong with tasks, and says what that was. @throws `board-damaged` when the file itself is, which nothing here mends */
  repair(): Promise<string[]>;
  /** The same for these tasks alone, at the cost of these alone: the file is not looked at. Those that are gone are left out. */
  mendTasks(tasks: readonly string[]): Promise<string[]>;
}

export function upkeepOperations({ database, clock }: StoreContext): UpkeepOperations {
  const { dialect, location, execute } = database;
  const structure = async () => (dialect === "sqlite" ? await checkFile(execute) : []);
  const damagedBy = (text: string) => `the board in ${location} is damaged: ${text}`;
  return {
    async backup(path) {
      if (dialect !== "sqlite") {
        throw new HoldfastError("unsupported", "a board in PostgreSQL is not copied by Holdfast", {
          hint: "use pg_dump, which does it while others write",
        });
      }
      if (path.includes("\0")) throw new HoldfastError("invalid-input", "path must not hold a NUL byte", { facts: { field: "path" } });
      const made = makePrivateFile(path);
      try {
        await execute(`vacuum into '${path.replaceAll("'", "''")}'`);
      } catch (error) {
        if (made) await rm(path, { force: true });
        throw error;
      }
    },
    async check() {
      const damage = await structure().catch((error: unknown) => {
        // Some damage is found while looking for damage.
        if (HoldfastError.isInstance(error) && error.code === "board-damaged") return [error.message];
        throw error;
      });
      // What cannot be read says nothing about what is in it.
      if (damage.length > 0) return damage.map((text) => (isDamage(text) || isMendable(text) ? text : damagedBy(text)));
      return (await database.read((session) => findFaults(session))).map(describeFault);
    },
    async repair() {
      // Indexes are made of what is in the tables, so they can be made anew whatever is wrong with them.
      if (dialect === "sqlite") await execute("reindex");
      const [damage] = await structure();
      if (damage !== undefined) throw new HoldfastError("board-damaged", damagedBy(damage), { facts: { location } });
      return await database.write(async (session) => {
        const faults = await findFaults(session);
        for (const fault of faults) await mendFault(session, fault, clock.now());
        return faults.map(describeFault);
      });
    },
    mendTasks: (tasks) =>
      database.write(async (session) => {
        const mended: string[] = [];
        for (const task of tasks.toSorted()) {
          // Without it, what is wrong could come right between finding it and mending it.
          lockTask(session, task);
          for (const fault of await findFaults(session, { task })) {
            await mendFault(session, fault, clock.now());
            mended.push(describeFault(fault));
          }
        }
        return mended;
      }),
  };
}

async function checkFile(execute: StoreContext["database"]["execute"]): Promise<string[]> {
  const pages = (await execute("pragma integrity_check")).map(({ integrity_check: text }) => String(text)).filter((text) => text !== "ok");
  // On damaged pages the next one fails instead of answering.
  if (pages.length > 0) return pages;
  const keys = await execute("pragma foreign_key_check");
  return keys.map(({ table, rowid, parent }) => `row ${rowid} of ${table} points to a row of ${parent} that is not there`);
}
