import { join } from "node:path";
import { openStore } from "../../src/board/store.ts";
import { testBoardStore } from "../contract/board-store.ts";
import { createManualClock } from "../helpers/manual-clock.ts";
import { soakCount } from "../helpers/soak.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";

testBoardStore({
  name: "SQLite in a file",
  async createHarness() {
    const directory = await temporaryDirectory();
    const clock = createManualClock();
    const open = () => openStore(join(directory.path, "board.db"), { clock });
    const store = await open();
    return {
      store,
      clock,
      open,
      histories: { runs: soakCount("histories of a board, sqlite-file", { check: 3, soak: 8 }), steps: 100 },
      async [Symbol.asyncDispose]() {
        await store[Symbol.asyncDispose]();
        await directory[Symbol.asyncDispose]();
      },
    };
  },
});
