/** @module Requests to the daemon: one channel each, its answers, and what a failure means. */
import { throwIfAborted } from "../../base/abort.ts";
import type { Timer } from "../../base/clock.ts";
import { type ErrorCode, HoldfastError } from "../../base/errors.ts";
import type { Abortable } from "../driver.ts";
import type { Channel, DaemonLink } from "./link.ts";
import { FROM_CLIENT, FROM_DAEMON } from "./types.ts";
import { createReader, type Frame, protocolError } from "./wire.ts";

/** Linux numbers, whatever system we run on. */
const SYSTEM_CODES: Readonly<Record<number, string>> = {
  1: "EPERM",
  2: "ENOENT",
  3: "ESRCH",
  5: "EIO",
  7: "E2BIG",
  8: "ENOEXEC",
  9: "EBADF",
  11: "EAGAIN",
  12: "ENOMEM",
  13: "EACCES",
  16: "EBUSY",
  17: "EEXIST",
  18: "EXDEV",
  20: "ENOTDIR",
  21: "EISDIR",
  22: "EINVAL",
  23: "ENFILE",
  24: "EMFILE",
  26: "ETXTBSY",
  27: "EFBIG",
  28: "ENOSPC",
  30: "EROFS",
  31: "EMLINK",
  32: "EPIPE",
  36: "ENAMETOOLONG",
  39: "ENOTEMPTY",
  40: "ELOOP",
  75: "EOVERFLOW",
  95: "EOPNOTSUPP",
  108: "ESHUTDOWN",
  122: "EDQUOT",
};

const MEANINGS: Readonly<Record<string, ErrorCode>> = {
  EBUSY: "busy",
  EEXIST: "file-exists",
  ENOENT: "file-not-found",
  EPIPE: "process-input-closed",
  ESRCH: "process-not-found",
};

const DETACH_LIMIT_MS = 10_000;
/** For what the daemon has at hand: longer takes only a machine that hardly moves, or a daemon that is not what it seems. */
export const ANSWER_LIMIT_MS = 30_000;

/** What a request is about, for the message when it fails. */
export interface Purpose {
  /** As in "cannot …". */
  readonly what: string;
  readonly facts: Readonly<Record<string, unknown>>;
  /** Where a code of the system means something else than usual. */
  readonly meanings?: Readonly<Record<string, ErrorCode>>;
  /** @default "file-failed" */
  readonly otherwise?: ErrorCode;
}

export interface RequestOptions extends Abortable, Purpose {
  /** Frames between the opening and DONE or FAILED. True: it was the last one, in place of DONE. */
  onFrame?(frame: Frame): boolean;
  /**
   * When it is up, the link is given up.
   * @default for ever
   */
  readonly limitMs?: number;
}

export interface Request {
  readonly channel: Channel;
  /** Settles with the last frame. After `signal` it @throws `aborted`, but not before the daemon has let go too. */
  readonly done: Promise<void>;
  /** Asks the daemon to let go; from now on no frame is handed over, and `done` resolves, or @throws `reason`. */
  detach(reason?: unknown): void;
}

export function openRequest(link: DaemonLink, type: number, payload: Uint8Array, options: RequestOptions): Request {
  const { signal, what, onFrame } = options;
  const notDone = `cannot ${what}: it was cancelled`;
  throwIfAborted(signal, notDone);
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  // Whoever made the request awaits it, if only after its output; until then a failure must not count as unhandled.
  done.catch(() => {});
  let detached: { readonly reason: unknown } | undefined;
  let over = false;
  let letGo: Timer | undefined;
  const end = () => {
    over = true;
    letGo?.cancel();
    signal?.removeEventListener("abort", abort);
  };
  const finish = () => {
    end();
    if (detached?.reason === undefined) resolve();
    else reject(detached.reason);
  };
  const detach = (reason?: unknown) => {
    if (detached || over) return;
    detached = { reason };
    letGo = link.clock.after(DETACH_LIMIT_MS, () => link.abandon("it did not let go of a request in time"), { background: true });
    channel.send(FROM_CLIENT.detach);
  };
  const abort = () => detach(new HoldfastError("aborted", notDone, { cause: signal?.reason }));
  const channel = link.open(type, payload, {
    onFrame(frame) {
      if (frame.type === FROM_DAEMON.failed) {
        const error = failureOf(frame.payload, options);
        detached ??= { reason: error };
        finish();
        return true;
      }
      const last =
        frame.type === FROM_DAEMON.done ? true : detached ? frame.type === FROM_DAEMON.ended : (onFrame?.(frame) ?? unexpected(frame));
      if (last) finish();
      return last;
    },
    onLost(error) {
      end();
      reject(error);
    },
  });
  signal?.addEventListener("abort", abort, { once: true });
  return { channel, done, detach };
}

/** A request that is answered by DONE, after any number of other frames. */
export async function request(link: DaemonLink, type: number, payload: Uint8Array, options: RequestOptions): Promise<void> {
  const { done } = openRequest(link, type, payload, options);
  if (options.limitMs === undefined) return done;
  const limit = link.clock.after(options.limitMs, () => link.abandon("it did not answer in time"));
  await done.finally(() => limit.cancel());
}

export function unexpected({ type }: Frame): never {
  throw protocolError(`a message of kind ${type} where none is expected`);
}

/** OPENED: what the daemon takes at first, and where the output begins or how long it is. */
export function readOpened(payload: Buffer): { credit: number; offset: number } {
  const reader = createReader(payload);
  const opened = { credit: reader.u32(), offset: reader.u64() };
  reader.end();
  return opened;
}

/** FAILED: why, by the system's number where there is one, else 0. */
export function readFailed(payload: Buffer): { errno: number; message: string } {
  const reader = createReader(payload);
  const failed = { errno: reader.u32(), message: reader.str() };
  reader.end();
  return failed;
}

function failureOf(payload: Buffer, { what, facts, meanings = {}, otherwise = "file-failed" }: Purpose): HoldfastError {
  const { errno, message } = readFailed(payload);
  const systemCode = errno === 0 ? undefined : (SYSTEM_CODES[errno] ?? `E${errno}`);
  const code = (systemCode && { ...MEANINGS, ...meanings }[systemCode]) || otherwise;
  return new HoldfastError(code, `cannot ${what}: ${systemCode ? reasonOf(message) : message}`, {
    facts: { ...facts, ...(systemCode ? { systemCode } : {}) },
  });
}

/** The daemon says `what: why`. What it could not do we say better, but for the name of what it could not unpack; else `what` is the reason. */
function reasonOf(message: string): string {
  const [, what = message, why = message] = /^(.*): ([^:]*)$/s.exec(message) ?? [];
  if (what.startsWith("cannot unpack")) return message;
  return what.startsWith("cannot ") ? why : what;
}
