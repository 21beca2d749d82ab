/** @module A decorator that bounds every operation of a driver in time, and how many of the heavy ones run at once. */
import { throwIfAborted, untilAborted } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import { describeError, ERROR_KINDS, HoldfastError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import type { Abortable, Owner, SandboxDriver, SandboxRef } from "./driver.ts";

type Operation = "attach" | "check" | "list" | "create" | "connect" | "destroy" | "activity";

export interface DriverLimits {
  /** Milliseconds that each operation may take, once it has begun. */
  readonly timeMs: Readonly<Record<Operation, number>>;
  /** How many creations and removals run at the same time; the others wait for their turn. */
  readonly changesAtOnce: number;
}

export const DRIVER_LIMITS: DriverLimits = {
  timeMs: { attach: 10_000, check: 8_000, list: 10_000, create: 60_000, connect: 30_000, destroy: 60_000, activity: 10_000 },
  changesAtOnce: 8,
};

export interface WithLimitsOptions {
  clock: Clock;
  log: Logger;
  /** @default DRIVER_LIMITS */
  limits?: { readonly timeMs?: Partial<DriverLimits["timeMs"]>; readonly changesAtOnce?: number };
}

interface Step<T> {
  run(options: { signal: AbortSignal }): Promise<T>;
  /** It succeeded after its caller had been told that it did not. */
  late?(result: T): unknown;
}

export function withLimits(driver: SandboxDriver, { clock, log, limits = {} }: WithLimitsOptions): SandboxDriver {
  const timeMs = { ...DRIVER_LIMITS.timeMs, ...limits.timeMs };
  const changes = createSlots(limits.changesAtOnce ?? DRIVER_LIMITS.changesAtOnce);
  const activity = driver.activity?.bind(driver);
  const attach = driver.attach?.bind(driver);

  /**
   * Cancelling is left to the driver, which alone can leave nothing half-made; the limit is not: when it is up, the caller goes on at once.
   */
  const bounded = async <T>(operation: Operation, { signal: callers }: Abortable, { run, late }: Step<T>): Promise<T> => {
    const expiry = new AbortController();
    const signal = callers ? AbortSignal.any([callers, expiry.signal]) : expiry.signal;
    const { promise: expired, reject } = Promise.withResolvers<never>();
    const work = run({ signal });
    const timer = clock.after(timeMs[operation], () => {
      const error = timeoutError(driver.name, operation, timeMs[operation]);
      // First, because a driver that heeds the signal rejects too, and less to the point.
      reject(error);
      expiry.abort(error);
    });
    try {
      return await Promise.race([expired, work]);
    } finally {
      timer.cancel();
      if (expiry.signal.aborted) void work.then((result) => late?.(result)).catch((error: unknown) => logLate(operation, error));
    }
  };
  const logLate = (operation: Operation, error: unknown) => {
    log.debug(`${operation} failed after its limit`, { backend: driver.name, error: describeError(error) });
  };
  const logLateSandbox = ({ id, owner }: SandboxRef) => {
    log.warn("a sandbox was made after the limit of its creation; it exists, and the next use finds it", {
      backend: driver.name,
      sandbox: id,
      task: owner.task,
    });
  };

  return {
    ...driver,
    async check(options = {}) {
      try {
        return await bounded("check", options, { run: (abortable) => driver.check(abortable) });
      } catch (error) {
        if (!isTimeout(error)) throw error;
        return { status: "broken", reason: error.message, fix: ERROR_KINDS["operation-timeout"].fix };
      }
    },
    create: (owner, spec, options = {}) =>
      changes.take(options.signal, () =>
        bounded("create", options, { run: (abortable) => driver.create(owner, spec, abortable), late: logLateSandbox }),
      ),
    connect: (ref, options = {}) =>
      bounded("connect", options, {
        run: (abortable) => driver.connect(ref, abortable),
        late: (connection) => connection[Symbol.asyncDispose](),
      }),
    list: (filter, options = {}) => bounded("list", options, { run: (abortable) => driver.list(filter, abortable) }),
    destroy: (ref, options = {}) =>
      changes.take(options.signal, () =>
        bounded("destroy", options, { run: (abortable) => driver.destroy(ref, { ...options, ...abortable }) }),
      ),
    ...(attach && {
      attach: (owner: Owner, options: Abortable = {}) =>
        bounded("attach", options, {
          run: (abortable) => attach(owner, abortable),
          late: (found) => found?.connection[Symbol.asyncDispose](),
        }),
    }),
    ...(activity && { activity: (ref: SandboxRef) => bounded("activity", {}, { run: () => activity(ref) }) }),
  };
}

/** Lets `count` actions run at once, in the order in which they came. */
function createSlots(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];

  const turn = async (signal: AbortSignal | undefined): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    try {
      await untilAborted(promise, signal, "the operation was cancelled before its turn came");
    } catch (error) {
      const index = waiting.indexOf(resolve);
      if (index >= 0) waiting.splice(index, 1);
      else pass();
      throw error;
    }
  };
  const pass = () => {
    const next = waiting.shift();
    if (next) next();
    else free++;
  };

  return {
    async take<T>(signal: AbortSignal | undefined, action: () => Promise<T>): Promise<T> {
      throwIfAborted(signal, "the operation was cancelled before it began");
      if (free > 0) free--;
      else await turn(signal);
      try {
        return await action();
      } finally {
        pass();
      }
    },
  };
}

function timeoutError(backend: string, operation: Operation, limitMs: number): HoldfastError {
  return new HoldfastError("operation-timeout", `the ${backend} backend did not finish ${operation} within ${limitMs / 1000} s`, {
    facts: { backend, operation, limitMs },
  });
}

function isTimeout(error: unknown): error is HoldfastError {
  return HoldfastError.isInstance(error) && error.code === "operation-timeout";
}
