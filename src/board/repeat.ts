/** @module When a task repeats: `every 90m` counts from when it was done, five fields of cron name times of the clock (K10). */
import { checkInput, TEXT } from "../base/check-input.ts";
import { HoldfastError } from "../base/errors.ts";

const SECOND_MS = 1000;
const UNITS: Readonly<Record<string, number>> = {
  s: SECOND_MS,
  m: 60 * SECOND_MS,
  h: 3600 * SECOND_MS,
  d: 86_400 * SECOND_MS,
  w: 604_800 * SECOND_MS,
};
const EVERY = /^every (\d{1,9})([smhdw])$/;
const LONGEST_MS = 3660 * (UNITS.d ?? 0);
const LONGEST = 200;
const CRON_FIELDS = 5;

let croner: typeof import("croner") | undefined;

/** Most processes never meet a task that repeats by the clock. */
export async function loadCron(): Promise<void> {
  croner ??= await import("croner");
}

/** True until `loadCron`: that takes longer than a whole transaction, so it comes before. */
export function needsCron(repeat: string | null): boolean {
  return croner === undefined && repeat !== null && intervalOf(repeat) === undefined;
}

/** With single spaces. @throws `invalid-input` for what is neither of the two forms */
export function checkRepeat(input: string): string {
  checkInput("repeat", input, TEXT);
  if (input.length > LONGEST) throw badRepeat(input);
  const repeat = input.trim().split(/\s+/).join(" ");
  if (repeat.startsWith("every ") ? intervalOf(repeat) === undefined : repeat.split(" ").length !== CRON_FIELDS) throw badRepeat(input);
  return repeat;
}

export function checkTimeZone(input: string): string {
  checkInput("timeZone", input, TEXT);
  try {
    new Intl.DateTimeFormat("en", { timeZone: input });
    return input;
  } catch (error) {
    throw new HoldfastError("invalid-input", `${JSON.stringify(input.slice(0, LONGEST))} is not a time zone`, {
      hint: "a time zone looks like Europe/Berlin, or is UTC",
      facts: { field: "timeZone" },
      cause: error,
    });
  }
}

/** What `checkRepeat` has let pass may still be a time that does not exist. @throws `invalid-input` */
export async function checkCron(repeat: string | null | undefined, now: number): Promise<void> {
  if (typeof repeat !== "string") return;
  const checked = checkRepeat(repeat);
  if (needsCron(checked)) await loadCron();
  if (nextRepeat(checked, { timeZone: null, after: now }) === null) throw badRepeat(repeat);
}

/** The first time after `after`, or null when there is none. For one that `needsCron`, cron is loaded first. */
export function nextRepeat(repeat: string, { timeZone, after }: { timeZone: string | null; after: number }): number | null {
  const interval = intervalOf(repeat);
  if (interval !== undefined) return after + interval;
  if (croner === undefined) throw new HoldfastError("internal", "cron is not loaded");
  try {
    const cron = new croner.Cron(repeat, { mode: "5-part", ...(timeZone !== null && { timezone: timeZone }) });
    return cron.nextRun(new Date(after))?.getTime() ?? null;
  } catch (error) {
    throw badRepeat(repeat, error);
  }
}

function intervalOf(repeat: string): number | undefined {
  const [, amount, unit = ""] = EVERY.exec(repeat) ?? [];
  const interval = Number(amount) * (UNITS[unit] ?? 0);
  return interval > 0 && interval <= LONGEST_MS ? interval : undefined;
}

function badRepeat(repeat: string, cause?: unknown): HoldfastError {
  return new HoldfastError("invalid-input", `${JSON.stringify(repeat.slice(0, LONGEST))} is not a time that can be repeated`, {
    hint: "write `every 90m` (s, m, h, d or w, at most ten years), or five fields of cron such as `0 9 * * 1-5`",
    facts: { field: "repeat" },
    cause,
  });
}
