/** @module Processes that write to one board at once and are killed at random, and what they were promised. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Store } from "../../src/board/store.ts";
import { COMPILE_CACHE } from "../helpers/cli.ts";
import type { Random } from "./random.ts";

export interface Writers extends AsyncDisposable {
  /** Kills one at random, and starts another in its place. */
  replaceOne(random: Random): Promise<void>;
  killAll(): Promise<void>;
  /** All lines of all journals. */
  notes(): Promise<string[][]>;
}

export function startWriters(location: string, { count, directory }: { count: number; directory: string }): Writers {
  let number = 0;
  const start = (): ChildProcess => {
    number += 1;
    const args = [join(import.meta.dirname, "board-writer.ts"), location, join(directory, `journal-${number}`)];
    return spawn(process.execPath, args, {
      env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE },
      stdio: ["ignore", "ignore", "inherit"],
    });
  };
  const children = Array.from({ length: count }, start);
  const killAll = async () => {
    await Promise.all(children.splice(0).map(kill));
  };
  return {
    async replaceOne(random) {
      const index = random.whole(children.length);
      const [child] = children.splice(index, 1, start());
      if (child !== undefined) await kill(child);
    },
    killAll,
    async notes() {
      const names = (await readdir(directory)).filter((name) => name.startsWith("journal-"));
      const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
      // A line that was cut off by the kill was acknowledged as well, but cannot be read.
      return texts.flatMap((text) => text.split("\n").slice(0, -1)).map((line) => line.split(" "));
    },
    [Symbol.asyncDispose]: killAll,
  };
}

export async function writeFor(ms: number, { writers, random }: { writers: Writers; random: Random }): Promise<void> {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    await pause(random.whole(1500));
    await writers.replaceOne(random);
  }
}

/** What was acknowledged and is not there. */
export async function findLost(store: Store, notes: readonly string[][]): Promise<string[]> {
  const tasks = new Map((await store.listTasks()).map((task) => [task.id, task]));
  const runs = new Map((await store.runs({ board: "default" })).map((run) => [String(run.id), run]));
  const comments = new Set<string>();
  const events = await allEvents(store);
  for (const { kind, task, payload } of events) if (kind === "commented") comments.add(`${task} ${payload.comment}`);
  const there: Record<string, (id: string, other: string) => boolean> = {
    created: (id) => tasks.has(id),
    commented: (id, comment) => comments.has(`${id} ${comment}`),
    claimed: (id, run) => runs.get(run)?.task === id,
    completed: (id, child) => tasks.get(id)?.status === "done" && tasks.get(child)?.status !== "todo",
  };
  return notes.filter(([kind = "", id = "", other = ""]) => there[kind]?.(id, other) === false).map((note) => note.join(" "));
}

async function allEvents(store: Store) {
  const all = [];
  for (let since = 0; ; ) {
    const page = await store.events({ since, limit: 10_000 });
    all.push(...page);
    const last = page.at(-1)?.id;
    if (last === undefined) return all;
    since = last;
  }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
