/** @module A process that makes one task and prints its id. Arguments: location, board. */
import { openStore } from "../../src/board/store.ts";

const [location = "", board = ""] = process.argv.slice(2);
await using store = await openStore(location);
const { task } = await store.createTask({ title: "from elsewhere", board }, { by: `process-${process.pid}` });
console.log(task.id);
