/** @module What the workers of a task have printed. */
import { type FileHandle, stat } from "node:fs/promises";
import { delay } from "../base/clock.ts";
import { systemCode } from "../base/errors.ts";
import { openLogFile, readOlderLogs } from "../dispatcher/log-file.ts";
import type { App } from "./create-app.ts";
import { findTask, type WantedTask } from "./find-task.ts";
import { hostFailed } from "./host-file.ts";

const CHUNK = 64 * 1024;
const LOOK_EVERY_MS = 300;

export interface ReadLogOptions extends WantedTask {
  /** Only so many bytes of the end. */
  readonly tail?: number | undefined;
  /** Goes on until aborted. */
  readonly follow?: AbortSignal | undefined;
}

/** Nothing when there is no log yet. Each chunk is only good until the next one is asked for. */
export async function* readLog(app: App, { tail, follow, ...wanted }: ReadLogOptions): AsyncGenerator<Uint8Array> {
  const kanban = await app.kanban();
  const { id, board } = await findTask(kanban, wanted);
  const path = kanban.files.log(board, id);
  let first = true;
  do {
    await using file = await openLogFile(path);
    if (first) {
      const newest = (await file?.stat()) ?? null;
      const bytes = tail === undefined ? Number.POSITIVE_INFINITY : tail - (newest?.size ?? 0);
      yield* readOlderLogs(path, { newest, bytes });
    }
    // Another one that has taken its place is read from its beginning.
    if (file !== null) yield* readFrom(app, file, { path, tail: first ? tail : undefined, follow });
    else if (follow !== undefined) await delay(app.clock, LOOK_EVERY_MS);
    first = false;
  } while (follow !== undefined && !follow.aborted);
}

type Reading = Pick<ReadLogOptions, "tail" | "follow"> & { readonly path: string };

async function* readFrom(app: App, file: FileHandle, { path, tail, follow }: Reading): AsyncGenerator<Uint8Array> {
  const { ino, size } = await file.stat();
  const buffer = Buffer.allocUnsafe(CHUNK);
  let position = tail === undefined ? 0 : Math.max(0, size - tail);
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, CHUNK, position);
    if (bytesRead > 0) yield buffer.subarray(0, bytesRead);
    position += bytesRead;
    if (bytesRead > 0) continue;
    if (follow === undefined || follow.aborted || (await isReplaced(path, ino))) return;
    await delay(app.clock, LOOK_EVERY_MS);
  }
}

/** A log that grows too large is moved aside. */
async function isReplaced(path: string, ino: number): Promise<boolean> {
  try {
    return (await stat(path)).ino !== ino;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return true;
    throw hostFailed(path, error);
  }
}
