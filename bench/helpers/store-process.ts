/**
 * @module A process with a store of its own, which does what it reads line by line, and answers each with a line. Argument: location.
 * `create BOARD COUNT`, `claim BOARD` (all that it gets), `complete` (what it has claimed).
 */
import { createInterface } from "node:readline";
import { openStore } from "../../src/board/store.ts";

const [location = ""] = process.argv.slice(2);
const BY = { by: `dispatcher/${process.pid}` };
await using store = await openStore(location);
const claims = new Map<string, string>();

const commands: Readonly<Record<string, (board: string, count: string) => Promise<readonly string[]>>> = {
  async create(board, count) {
    for (let index = 0; index < Number(count); index += 1) await store.createTask({ title: `task ${index}`, board, assignee: "coder" }, BY);
    return [];
  },
  async claim(board) {
    const taken: string[] = [];
    for (;;) {
      const claim = await store.claimNext({ board, ...BY });
      if (claim === null) return taken;
      taken.push(claim.task.id);
      claims.set(claim.task.id, claim.token);
    }
  },
  async complete() {
    for (const [id, token] of claims) await store.complete(id, { summary: "done" }, { token });
    claims.clear();
    return [];
  },
};

console.log("[]");
for await (const line of createInterface({ input: process.stdin })) {
  const [name = "", board = "", count = ""] = line.split(" ");
  console.log(JSON.stringify((await commands[name]?.(board, count)) ?? []));
}
