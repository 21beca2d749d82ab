/** @module A decorator that logs every operation of a driver and changes nothing. */
import type { Clock } from "../base/clock.ts";
import { describeError, HoldfastError } from "../base/errors.ts";
import { type LogFields, type Logger, THROWN } from "../base/log.ts";
import type { Abortable, Owner, PrepareOptions, SandboxDriver, SandboxRef } from "./driver.ts";
import type { SandboxSpec } from "./spec.ts";

export interface WithLogOptions {
  clock: Clock;
  log: Logger;
}

export function withLog(driver: SandboxDriver, { clock, log }: WithLogOptions): SandboxDriver {
  const logged = async <T>(operation: string, about: LogFields, run: () => Promise<T>): Promise<T> => {
    const fields = { backend: driver.name, operation, ...about };
    const startedAt = clock.monotonic();
    const ms = () => Math.round(clock.monotonic() - startedAt);
    log.debug(`${operation} begins`, fields);
    try {
      const result = await run();
      log.debug(`${operation} done`, { ...fields, ms: ms() });
      return result;
    } catch (error) {
      const failed = { ...fields, ms: ms(), error: describeError(error) };
      // Whoever asked for it hears of it, too.
      if (isAway(error)) log.error(error.message, { ...failed, [THROWN]: true });
      else log.info(`${operation} failed`, failed);
      throw error;
    }
  };
  const activity = driver.activity?.bind(driver);
  const attach = driver.attach?.bind(driver);
  const prepare = driver.prepare?.bind(driver);

  return {
    ...driver,
    check: (options) => logged("check", {}, () => driver.check(options)),
    create: (owner, spec, options) => logged("create", { task: owner.task }, () => driver.create(owner, spec, options)),
    connect: (ref, options) => logged("connect", about(ref), () => driver.connect(ref, options)),
    list: (filter, options) => logged("list", { ...filter }, () => driver.list(filter, options)),
    destroy: (ref, options) => logged("destroy", about(ref), () => driver.destroy(ref, options)),
    ...(attach && { attach: (owner: Owner, options?: Abortable) => logged("attach", { task: owner.task }, () => attach(owner, options)) }),
    ...(prepare && {
      prepare: (owner: Owner, spec: SandboxSpec, options?: PrepareOptions) =>
        logged("prepare", { task: owner.task }, () => prepare(owner, spec, options)),
    }),
    ...(activity && { activity: (ref: SandboxRef) => logged("activity", about(ref), () => activity(ref)) }),
  };
}

/** Not a failure of this one operation: nothing works any more (S1, S2). */
function isAway(error: unknown): error is HoldfastError {
  return HoldfastError.isInstance(error) && (error.code === "engine-not-found" || error.code === "engine-not-responding");
}

function about({ id, owner }: SandboxRef): LogFields {
  return { sandbox: id, task: owner.task };
}
