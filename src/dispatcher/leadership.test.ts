import { expect, test } from "vitest";
import { createManualClock } from "../../test/helpers/manual-clock.ts";
import { openStore } from "../board/store.ts";
import { createLeadership } from "./leadership.ts";

const BOARD = "default";
const AHEAD_MS = 3_600_000;

test("K24 a lead that nobody renews is taken over, though by the wall clock it goes on for long", async () => {
  const clock = createManualClock();
  await using store = await openStore(":memory:", { clock });
  await store.lead(BOARD, "dead", { ttlMs: AHEAD_MS });
  const leadership = createLeadership({ store, holder: "me", clock });
  expect(await leadership.renew(BOARD)).toBe(false);
  await clock.advance(10_000);
  expect(await leadership.renew(BOARD)).toBe(true);
});

test("K24 a leader that comes back while another one takes it for dead keeps its lead", async () => {
  const clock = createManualClock();
  await using store = await openStore(":memory:", { clock });
  await store.lead(BOARD, "paused", { ttlMs: AHEAD_MS });
  let comesBack = false;
  const leadership = createLeadership({
    store: {
      ...store,
      async leader(board) {
        const seen = await store.leader(board);
        if (comesBack) await store.lead(board, "paused", { ttlMs: AHEAD_MS });
        return seen;
      },
    },
    holder: "me",
    clock,
  });
  expect(await leadership.renew(BOARD)).toBe(false);
  await clock.advance(10_000);
  comesBack = true;
  expect(await leadership.renew(BOARD)).toBe(false);
  expect(await store.leader(BOARD)).toMatchObject({ holder: "paused", term: 1 });
});
