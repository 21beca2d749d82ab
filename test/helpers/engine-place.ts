/**
 * @module Where the engines of tests live: a directory with a keeper, a process that outlives its maker, however that ends, and then ends
 * what was started in the directory and removes it. As vitest's global setup it makes the one that all tests of a run share.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";

const KEEPER = join(import.meta.dirname, "engine-keeper.ts");
const SHARED = "HOLDFAST_TEST_PLACE";

export interface EnginePlace extends AsyncDisposable {
  readonly path: string;
}

let ownPlace: Promise<EnginePlace> | undefined;

/** The path is short and not under TMPDIR, since the path of a socket has at most 107 bytes. */
export async function enginePlace(): Promise<EnginePlace> {
  const path = await mkdtemp("/tmp/hfe-");
  // The shell waits for the end of its input, which comes when this process closes it or dies.
  const script = 'trap "" HUP INT TERM; cat >/dev/null; rmdir "$1" 2>/dev/null || exec "$2" "$3" "$1"';
  const keeper = spawn("sh", ["-c", script, "keeper", path, process.execPath, KEEPER], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  const closed = once(keeper, "close");
  keeper.unref();
  if (keeper.stdin instanceof Socket) keeper.stdin.unref();
  return {
    path,
    async [Symbol.asyncDispose]() {
      keeper.ref();
      keeper.stdin.end();
      const [code] = await closed;
      if (code !== 0) throw new Error(`the keeper of ${path} could not remove it`);
    },
  };
}

/** The place of this run, or of this process where no run made one, as in a benchmark. */
export async function sharedPlace(): Promise<string> {
  const shared = process.env[SHARED];
  if (shared !== undefined) return shared;
  ownPlace ??= enginePlace();
  return (await ownPlace).path;
}

/** vitest calls it once, before it starts the processes that run tests, and calls what it returns at the end. */
export default async function setup(): Promise<() => Promise<void>> {
  const place = await enginePlace();
  process.env[SHARED] = place.path;
  return async () => await place[Symbol.asyncDispose]();
}
