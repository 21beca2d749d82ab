/** @module Whether a repetition can be: before a task is made with it, so that the flag that gave it can be named. */
import { checkCron } from "../board/repeat.ts";
import type { App } from "./create-app.ts";

/** @throws `invalid-input` */
export async function checkRepetition({ clock }: Pick<App, "clock">, repeat: string): Promise<void> {
  await checkCron(repeat, clock.now());
}
