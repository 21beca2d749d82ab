/** @module The lead of a board: taken, renewed, and known to be over by time alone (K24). */
import type { Clock } from "../base/clock.ts";
import type { Leadership as Lead } from "../board/leaders.ts";
import type { Store } from "../board/store.ts";

/** With a try each RENEW_MS, a second dispatcher takes over within 8 s of the first one's death. */
const LEAD_TTL_MS = 6000;
export const RENEW_MS = 2000;
/** Of the time to live: what is left must be enough for what the lead was asked for. */
const MARGIN_MS = 2000;

export interface Leadership {
  /** Takes or renews it. False while somebody else leads. */
  renew(board: string): Promise<boolean>;
  /** As `renew`, but asks the database only when the lead is no longer certain, as after this process was paused. */
  sure(board: string): Promise<boolean>;
  holds(board: string): boolean;
  /** Gives up all that is held, so that the next one begins at once. */
  resign(): Promise<void>;
}

export interface LeadershipOptions {
  readonly store: Pick<Store, "lead" | "resign" | "leader">;
  readonly holder: string;
  readonly clock: Clock;
}

interface Held {
  readonly monotonic: number;
  readonly now: number;
}

export function createLeadership({ store, holder, clock }: LeadershipOptions): Leadership {
  const held = new Map<string, Held>();
  /** Either clock may stand still while the other goes on: the one in a machine that sleeps, the other when it is set back. */
  const left = ({ monotonic, now }: Held) => Math.min(monotonic - clock.monotonic(), now - clock.now());
  const remaining = (board: string) => {
    const lead = held.get(board);
    return lead === undefined ? 0 : left(lead);
  };
  const take = async (board: string) => {
    const ends = { monotonic: clock.monotonic() + LEAD_TTL_MS, now: clock.now() + LEAD_TTL_MS };
    const lead = await store.lead(board, holder, { ttlMs: LEAD_TTL_MS });
    if (lead === null) held.delete(board);
    else held.set(board, ends);
    return lead !== null && left(ends) > 0;
  };
  const isFrozen = createFrozenLeads(clock);
  const renew = async (board: string) => {
    if (await take(board)) return true;
    const other = await store.leader(board);
    if (other === null || !isFrozen(other)) return false;
    // It may have come back since it was looked at.
    await store.resign(board, other.holder, { ifExpiresAt: other.expiresAt });
    return await take(board);
  };

  return {
    renew,
    sure: async (board) => remaining(board) > MARGIN_MS || (await renew(board)),
    holds: (board) => remaining(board) > 0,
    async resign() {
      const boards = [...held.keys()];
      held.clear();
      await Promise.all(boards.map((board) => store.resign(board, holder)));
    },
  };
}

/**
 * A leader that died before the wall clock was set back would lead until the clock has caught up. One that lives renews, so a lead that
 * does not change for longer than it lasts is nobody's.
 */
function createFrozenLeads(clock: Clock): (lead: Lead) => boolean {
  const seen = new Map<string, { readonly lead: Lead; readonly since: number }>();
  return (lead) => {
    const before = seen.get(lead.board);
    if (before?.lead.holder === lead.holder && before.lead.expiresAt === lead.expiresAt)
      return clock.monotonic() - before.since > LEAD_TTL_MS;
    seen.set(lead.board, { lead, since: clock.monotonic() });
    return false;
  };
}
