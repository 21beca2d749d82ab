/** @module Builds a swarm. It needs no model. */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { defineOperation } from "../operation.ts";
import { swarmBodies, swarmTasks } from "../plans/swarm.ts";

const MOST_WORKERS = 20;

export const planSwarm = defineOperation({
  name: "plan.swarm",
  summary: "Build a swarm: workers side by side, a verifier after all of them, a synthesizer after that",
  input: z.strictObject({
    goal: z.string(),
    workers: z.array(z.strictObject({ profile: z.string(), title: z.string(), skills: z.optional(z.array(z.string())) })),
    verifier: z.string(),
    synthesizer: z.string(),
    board: z.optional(z.string()),
    tenant: z.optional(z.string()),
    priority: z.optional(z.int()),
    /** Asking again with the same key gives the first swarm. */
    idempotencyKey: z.optional(z.string()),
  }),
  output: z.object({
    root: z.string(),
    workers: z.array(z.string()),
    verifier: z.string(),
    synthesizer: z.string(),
    /** False when the key was known. */
    created: z.boolean(),
  }),
  async run(app, { board, ...input }) {
    const kanban = await app.kanban();
    const { store } = kanban;
    const by = kanban.person("building a swarm");
    checkSize(input.workers.length);
    const nameOf = async (profile: string) => (await app.profiles.find(profile)).name;
    const workers = await Promise.all(input.workers.map(async (worker) => ({ ...worker, profile: await nameOf(worker.profile) })));
    const swarm = {
      ...input,
      workers,
      verifier: await nameOf(input.verifier),
      synthesizer: await nameOf(input.synthesizer),
      board: (await kanban.existingBoard(board)).slug,
    };
    const made = await store.createTasks(swarmTasks(swarm), { by });
    const ids = made.map(({ task }) => task.id);
    const [root, ...rest] = ids as [string, ...string[]];
    // Also what an earlier attempt left undone: until the root is finished, nobody has begun.
    if (made[0]?.task.status === "blocked") {
      for (const [index, body] of swarmBodies(swarm, ids).entries()) await store.editTask(rest[index] ?? "", { body }, { by });
      await store.complete(root, { summary: "the swarm is built; the comments of this task are its blackboard" }, { by });
    }
    const count = workers.length;
    const [verifier = "", synthesizer = ""] = rest.slice(count);
    return { root, workers: rest.slice(0, count), verifier, synthesizer, created: made[0]?.created ?? false };
  },
});

function checkSize(count: number): void {
  if (count >= 1 && count <= MOST_WORKERS) return;
  throw new HoldfastError("invalid-input", `a swarm has 1 to ${MOST_WORKERS} workers, not ${count}`, {
    hint: "give --worker PROFILE:TITLE once for each",
    facts: { field: "workers", count },
  });
}
