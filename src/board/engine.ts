/** @module What a store is made of, in one file of the build that is loaded when a store is opened: most commands need none of it. */
import type { Clock } from "../base/clock.ts";
import { HoldfastError } from "../base/errors.ts";
import { urlWithoutPassword } from "../base/without-password.ts";
import type { Database } from "./database.ts";
import { isUrl, LOCATION, misreadLocation, readLocation } from "./location.ts";
import { createPatience, type Patience, withPatience } from "./patience.ts";
import { openSqlite } from "./sqlite.ts";
import type { Store } from "./store.ts";
import { storeOver } from "./store-operations.ts";

export interface EngineOptions {
  readonly clock: Clock;
  readonly busyLimitMs: number;
  readonly patience?: Patience | undefined;
}

export async function openEngine(location: string, { clock, busyLimitMs, patience }: EngineOptions): Promise<Store> {
  const open = () => openDatabase(location, busyLimitMs);
  const patiently = patience && createPatience({ clock, ...patience });
  const database = patiently ? withPatience(await patiently(open), patiently) : await open();
  try {
    return await storeOver({ database, clock });
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}

async function openDatabase(given: string, busyLimitMs: number): Promise<Database> {
  const hint = misreadLocation(given);
  if (hint !== undefined)
    throw new HoldfastError("invalid-input", `the place of a board must be ${LOCATION}, not ${urlWithoutPassword(given)}`, { hint });
  const location = readLocation(given);
  if (isUrl(location)) return await (await import("./postgres.ts")).openPostgres(location);
  return openSqlite(location, busyLimitMs);
}
