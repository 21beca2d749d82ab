/** @module What every part of the store works with. */
import type { Clock } from "../base/clock.ts";
import type { Database } from "./database.ts";

export interface StoreContext {
  readonly database: Database;
  readonly clock: Clock;
}
