/** @module Small private files of a sandbox, through the daemon in it. */
import { HoldfastError, wrapError } from "../../base/errors.ts";
import type { FileAccess } from "../driver.ts";
import { listDirectory, openFile, removeFile, writeFile } from "./files.ts";
import type { DaemonLink } from "./link.ts";
import { ANSWER_LIMIT_MS } from "./requests.ts";

/** More than the daemon saves of a session: it may not be what it seems, and send for ever or not at all. */
const LARGEST_BYTES = 16 * 1024 * 1024 + 1;

export function createPrivateFiles(link: DaemonLink): FileAccess {
  return {
    read: (path) => unlessMissing(null, "state-unreadable", () => inTime(link, readWhole(link, path))),
    async write(path, bytes) {
      await inTime(link, writeFile(link, path, { content: bytes, mode: 0o600, parents: true })).catch(asFailure("state-write-failed"));
    },
    async list(path) {
      const entries = await unlessMissing([], "state-unreadable", () => inTime(link, listDirectory(link, path)));
      return entries.map(({ name, kind, modifiedAt }) => ({ name, directory: kind === "directory", modifiedAt }));
    },
    async remove(path) {
      await inTime(link, removeFile(link, path, { recursive: true })).catch(asFailure("state-write-failed"));
    },
  };
}

async function readWhole(link: DaemonLink, path: string): Promise<Buffer> {
  const output = await openFile(link, path, { limit: LARGEST_BYTES });
  const chunks: Uint8Array[] = [];
  let left = LARGEST_BYTES;
  for (let chunk = await output.next(); chunk !== null; chunk = await output.next()) {
    chunks.push(chunk.bytes);
    left -= chunk.bytes.length;
    if (left > 0) continue;
    output.detach();
    throw new HoldfastError("state-unreadable", `${path} is larger than any state of a session`, { facts: { path } });
  }
  return Buffer.concat(chunks);
}

async function inTime<T>(link: DaemonLink, work: Promise<T>): Promise<T> {
  const limit = link.clock.after(ANSWER_LIMIT_MS, () => link.abandon("it did not answer in time"));
  return work.finally(() => limit.cancel());
}

async function unlessMissing<T, E>(empty: E, code: "state-unreadable", work: () => Promise<T>): Promise<T | E> {
  try {
    return await work();
  } catch (error) {
    if (HoldfastError.isInstance(error) && error.code === "file-not-found") return empty;
    return asFailure(code)(error);
  }
}

/** A sandbox that is gone stays what it is; everything else is a failure of ours in it. */
function asFailure(code: "state-unreadable" | "state-write-failed") {
  return (error: unknown): never => {
    if (HoldfastError.isInstance(error) && !error.code.startsWith("file-")) throw error;
    const facts = HoldfastError.isInstance(error) ? error.facts : {};
    throw new HoldfastError(code, wrapError(error, code, "a private file of the sandbox").message, { facts, cause: error });
  };
}
