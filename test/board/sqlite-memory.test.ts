import { openStore } from "../../src/board/store.ts";
import { testBoardStore } from "../contract/board-store.ts";
import { createManualClock } from "../helpers/manual-clock.ts";
import { soakCount } from "../helpers/soak.ts";

testBoardStore({
  name: "SQLite in memory",
  alone: "memory belongs to one connection",
  async createHarness() {
    const clock = createManualClock();
    const store = await openStore(":memory:", { clock });
    return {
      store,
      clock,
      open: undefined,
      histories: { runs: soakCount("histories of a board, sqlite-memory", { check: 20, soak: 80 }), steps: 200 },
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    };
  },
});
