/** @module Whether a repetition and its time zone can be: before a task is made with it, so that the flag that gave it can be named. */
import { checkCron, checkTimeZone } from "../board/repeat.ts";
import type { App } from "./create-app.ts";

/** @throws `invalid-input` */
export async function checkRepetition({ clock }: Pick<App, "clock">, repeat: string): Promise<void> {
  await checkCron(repeat, clock.now());
}

/** @throws `invalid-input` */
export function checkZone(timeZone: string): void {
  checkTimeZone(timeZone);
}
