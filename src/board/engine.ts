/** @module What a store is made of, in one file of the build that is loaded when a store is opened: most commands need none of it. */
import type { Clock } from "../base/clock.ts";
import type { Database } from "./database.ts";
import { isUrl } from "./location.ts";
import { openSqlite } from "./sqlite.ts";
import type { Store } from "./store.ts";
import { storeOver } from "./store-operations.ts";

export interface EngineOptions {
  readonly clock: Clock;
  readonly busyLimitMs: number;
}

export async function openEngine(location: string, { clock, busyLimitMs }: EngineOptions): Promise<Store> {
  const database = await openDatabase(location, busyLimitMs);
  try {
    return await storeOver({ database, clock });
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}

async function openDatabase(location: string, busyLimitMs: number): Promise<Database> {
  if (isUrl(location)) return await (await import("./postgres.ts")).openPostgres(location);
  return openSqlite(location, busyLimitMs);
}
