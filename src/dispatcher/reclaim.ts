/** @module Claims that ran out or were taken away: nobody may go on with them. */
import { exitOf } from "../board/exit.ts";
import type { Step } from "./verdict.ts";

export const reclaim: Step = (run, { time, seen, revokedFor }) => {
  // Somebody took it away and did not get to the end: a person, or a dispatcher that is no more.
  if (run.revokedAt !== null) return { outcome: revokedFor ?? (exitOf(run) === null ? "reclaimed" : null) };
  // How the worker ended is known, and says more than that it no longer renews its claim.
  if (exitOf(run) !== null) return null;
  if (run.expiresAt === null || run.expiresAt > time.now) return null;
  // The clock ran ahead of a supervisor that had no chance to renew.
  if (time.settling && seen !== "gone") return null;
  return { outcome: "reclaimed", error: "its claim ran out", ifExpiredAt: time.now };
};
