/** @module The process beside a worker. It loads as little as it can, since a worker waits for it. */
import { appendFileSync } from "node:fs";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { aborted } from "../base/abort.ts";
import { systemClock } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import { createLogger, type Logger } from "../base/log.ts";
import { openStore, type Store } from "../board/store.ts";
import { startOnHost } from "../dispatcher/host-worker.ts";
import { type Job, parseJob } from "../dispatcher/job.ts";
import { openTaskLog, type TaskLog } from "../dispatcher/log-file.ts";
import { supervise } from "../dispatcher/supervisor.ts";

/** Its exit status: nobody looks at it but people. */
export async function runSupervisor(input: Readable): Promise<number> {
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => stop.abort());
  const job = parseJob(await Promise.race([text(input), aborted(stop.signal).then(() => "")]));
  if (job === null) return 1;
  // Standard error is a file that all supervisors share.
  const log = createLogger({
    clock: systemClock,
    level: "warn",
    sink: ({ time, message }) => say(`${new Date(time).toISOString()} ${job.task} ${message}\n`),
  });
  const taskLog = await openLog(job, log);
  let store: Promise<Store> | undefined;
  try {
    await supervise({
      job,
      start: await starterOf(job),
      store: () => {
        store ??= openStore(job.database).catch((error: unknown) => {
          store = undefined;
          throw error;
        });
        return store;
      },
      output: taskLog.write,
      stop: stop.signal,
      clock: systemClock,
      log,
    });
    return 0;
  } catch (error) {
    log.error(`the supervisor of run ${job.run} failed: ${describeError(error)}`);
    return 1;
  } finally {
    taskLog.close();
    await (await store?.catch(() => undefined))?.[Symbol.asyncDispose]();
  }
}

/** What cannot be said must not end this process: its worker would live on, and nobody keep its claim or end it with that (K18). */
function say(line: string): void {
  try {
    appendFileSync(2, line);
  } catch {
    // A full disk, which is often what was to be told of.
  }
}

/** A full disk must not end the work: it goes on without a log. */
async function openLog({ run, profile, log: { path, ...limits } }: Job, log: Logger): Promise<Pick<TaskLog, "write" | "close">> {
  let opened: TaskLog | undefined;
  const giveUp = (error: unknown) => {
    log.warn(`run ${run} goes on without a log: ${describeError(error)}`);
    opened = undefined;
  };
  try {
    const began = new Date(systemClock.now()).toISOString();
    opened = await openTaskLog(path, { ...limits, header: `run ${run} of ${profile}, ${began}` });
  } catch (error) {
    giveUp(error);
  }
  return {
    write(chunk) {
      try {
        opened?.write(chunk);
      } catch (error) {
        giveUp(error);
      }
    },
    close: () => opened?.close(),
  };
}

async function starterOf({ sandbox }: Job) {
  if (sandbox === "none") return startOnHost;
  return (await import("./sandbox-worker.ts")).startInSandbox;
}
