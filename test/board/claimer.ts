/** @module A process that takes tasks of a board until there is none, and prints what it took. Arguments: location, board. */
import { openStore } from "../../src/board/store.ts";

const [location = "", board = ""] = process.argv.slice(2);
await using store = await openStore(location);
console.log("open");
// The test starts all of them at once.
await new Promise((resolve) => process.stdin.once("end", resolve).resume());
for (;;) {
  const claim = await store.claimNext({ board, by: `process-${process.pid}` });
  if (claim === null) break;
  console.log(claim.task.id);
  if (claim.task.priority > 0) await store.complete(claim.task.id, { summary: `by ${process.pid}` }, { token: claim.token });
}
