/** @module Running one call: session, timeout, interrupt, input, output, and an honest result. */
import { Readable } from "node:stream";
import { throwIfAborted } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import { HoldfastError } from "../base/errors.ts";
import { DEFAULT_SESSION } from "../base/names.ts";
import type { CallOptions, CallResult, Command } from "./call.ts";
import { checkDirectory, checkTimeout, commandText, oneCallVariables } from "./call-input.ts";
import type { ExitStatus, OutputStream, SandboxProcess } from "./driver.ts";
import { feed, guardInput, throwIfInputFailed } from "./feed.ts";
import { createOutputRecorder, type OutputLimits, type OutputRecorder, type RecordedOutput } from "./output/recorder.ts";
import type { ShellReport } from "./session/report.ts";
import { type ShellMachinery, startShell } from "./session/shell.ts";

const EXIT_TIMED_OUT = 124;
const EXIT_INTERRUPTED = 130;
const KILL_GRACE_MS = 2_000;
const NOT_RUN = "the call was cancelled before the command ran";

export interface CallMachinery extends ShellMachinery {
  readonly clock: Clock;
  readonly limits: OutputLimits;
  readonly defaultTimeoutMs: number;
}

/** A call after its input was checked. */
interface Request {
  readonly text: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
  readonly session: string;
  readonly timeoutMs: number;
  readonly options: CallOptions;
}

/** What became of one shell. */
interface Attempt {
  readonly report: ShellReport | "silent";
  readonly status: ExitStatus;
  readonly ending: "own" | "timeout" | "interrupt";
  readonly output: RecordedOutput;
}

export async function runCall(machinery: CallMachinery, command: Command, options: CallOptions = {}): Promise<CallResult> {
  const { sessions, clock } = machinery;
  using _guard = guardInput(options.stdin);
  const session = options.session ?? DEFAULT_SESSION;
  const request: Request = {
    text: commandText(command),
    env: { ...machinery.connection.callVariables, ...oneCallVariables(options.env ?? {}) },
    cwd: checkDirectory(options.cwd),
    session,
    timeoutMs: checkTimeout(options.timeoutMs ?? machinery.defaultTimeoutMs),
    options,
  };
  const startedAt = clock.monotonic();
  // A copy: calls that begin a session together are all told the same.
  const warnings = [...(await sessions.begin(session, options.signal))];
  let attempt = await attemptCall(machinery, request);
  if (sessionWasGone(attempt) && !(options.stdin instanceof Readable)) {
    // The shell stopped before the command, so this repeats nothing. A stream of input, though, may be used up.
    sessions.forget(session);
    warnings.push(...(await sessions.begin(session, options.signal)));
    attempt = await attemptCall(machinery, request);
  }
  const { report, status, ending, output } = attempt;
  const ended = shellEnd(report, { request, status, output });
  if (ended === null && ending === "own")
    warnings.push(`the shell was replaced or killed before it could save session ${session}, which stays as it was`);
  if (ended?.unsaved) warnings.push(`what the command changed in session ${session} was not saved: ${ended.unsaved}`);
  const { fileProblem, ...recorded } = output;
  if (fileProblem !== null) warnings.push(`the overflow file is not whole: ${fileProblem}`);
  return {
    exitCode: ending === "timeout" ? EXIT_TIMED_OUT : ending === "interrupt" ? EXIT_INTERRUPTED : status.exitCode,
    signal: status.signal,
    timedOut: ending === "timeout",
    interrupted: ending === "interrupt",
    cwd: ended?.cwd ?? (await sessions.cwd(session)),
    cwdRecovered: ended?.recovered ?? null,
    ...recorded,
    durationMs: Math.round(clock.monotonic() - startedAt),
    session,
    replaced: null,
    restarted: false,
    warnings,
  };
}

async function attemptCall(machinery: CallMachinery, { text, env, cwd, session, timeoutMs, options }: Request): Promise<Attempt> {
  const { clock, limits } = machinery;
  throwIfAborted(options.signal, NOT_RUN);
  throwIfInputFailed(options.stdin);
  let started = false;
  const recorder = createOutputRecorder(options.overflowFile === false ? { ...limits, spillBytes: 0 } : limits, clock);
  const sink = createSink(recorder, options.onOutput);
  try {
    await using shell = await startShell(machinery, {
      text,
      env,
      cwd,
      session,
      timeoutMs,
      tty: options.tty ?? null,
      stdin: options.stdin === undefined ? "none" : "pipe",
      merge: options.merge ?? false,
      onOutput: sink.deliver,
    });
    started = true;
    options.onStart?.({ resize: shell.resize });
    const stop = AbortSignal.any([sink.failed, ...(options.signal ? [options.signal] : [])]);
    const { status, ending: ours } = await untilEnd(shell.process, { clock, timeoutMs, stdin: options.stdin, stop });
    sink.failed.throwIfAborted();
    const output = await recorder.finish();
    const { report, timedOut } = await shell.outcome();
    const ending = timedOut ? "timeout" : ours;
    return { report: shellReport(report, ending), status, ending, output };
  } catch (error) {
    await recorder.abandon();
    throw started ? lostMeanwhile(error, session) : error;
  }
}

function shellReport(report: ShellReport | "silent" | "missing", ending: Attempt["ending"]): Attempt["report"] {
  // A shell that was ended in its first moments had no time to say anything; whether the command began makes no difference then.
  if (ending !== "own" && (typeof report === "string" || report.kind === "damaged")) return { kind: "started" };
  if (report === "missing") throw new HoldfastError("sandbox-lost", "there is no report of the command's shell");
  return report;
}

/** Whatever found out that the sandbox is gone, and however sure it was that nothing ran: the command had been started by then. */
function lostMeanwhile(error: unknown, session: string): unknown {
  if (!HoldfastError.isInstance(error) || error.code !== "sandbox-lost") return error;
  return new HoldfastError("sandbox-lost", `the sandbox was lost while the command ran: ${error.message}`, {
    facts: { ...error.facts, session, mayHaveRun: true },
    cause: error,
  });
}

/** Hands every chunk to the recorder and to the caller. When the caller's own code fails, `failed` fires with that error. */
function createSink(recorder: OutputRecorder, onOutput: CallOptions["onOutput"]) {
  const failed = new AbortController();
  const fail = (error: unknown): never => {
    failed.abort(error);
    throw error;
  };
  const deliver = (chunk: Uint8Array, stream: OutputStream): void | Promise<void> => {
    const recorded = recorder.add(chunk, stream);
    try {
      const taken = onOutput?.(new Uint8Array(chunk), stream);
      if (recorded === undefined && taken === undefined) return undefined;
      return Promise.all([recorded, taken]).then(() => undefined, fail);
    } catch (error) {
      return fail(error);
    }
  };
  return { deliver, failed: failed.signal };
}

/** Waits for the end of the process, or brings it about. The first reason wins; whatever fails here, no process is left behind. */
async function untilEnd(
  process: SandboxProcess,
  { clock, timeoutMs, stdin, stop }: { clock: Clock; timeoutMs: number; stdin: CallOptions["stdin"]; stop: AbortSignal },
): Promise<Pick<Attempt, "status" | "ending">> {
  let ending: Attempt["ending"] = "own";
  let killing: Promise<void> | undefined;
  const end = (reason: "timeout" | "interrupt") => {
    if (killing) return;
    ending = reason;
    killing = process.kill({ graceMs: KILL_GRACE_MS });
    // Awaited below; without this a failure in the meantime would count as unhandled.
    killing.catch(() => {});
  };
  const timer = clock.after(timeoutMs, () => end("timeout"));
  const onStop = () => end("interrupt");
  stop.addEventListener("abort", onStop);
  // It may have fired while the process was being started.
  if (stop.aborted) onStop();
  const feeding = feed(process, stdin);
  feeding.catch(onStop);
  try {
    const status = await process.ended;
    await killing;
    await feeding;
    return { status, ending };
  } catch (error) {
    await process.kill({ graceMs: 0 });
    throw error;
  } finally {
    timer.cancel();
    stop.removeEventListener("abort", onStop);
  }
}

function sessionWasGone({ report }: Attempt): boolean {
  return typeof report === "object" && report.kind === "no-session";
}

/** Null when the command ran but its shell was killed or replaced (`exec`) before it could say how things stand. */
function shellEnd(
  report: Attempt["report"],
  { request, status, output }: { request: Request; status: ExitStatus; output: RecordedOutput },
) {
  const { session, cwd } = request;
  if (report === "silent") {
    const reason = output.stderr.trim().split("\n").at(-1) ?? "";
    throw new HoldfastError(
      "state-write-failed",
      `the shell of session ${session} could not write its state, so the command did not run: ${reason}`,
      { facts: { session } },
    );
  }
  if (report.kind === "damaged" && status.signal !== null) {
    throw new HoldfastError("spawn-failed", `the shell of session ${session} was ended by ${status.signal} before the command ran`, {
      facts: { session, signal: status.signal },
    });
  }
  switch (report.kind) {
    case "ended":
      return report;
    case "started":
      return null;
    case "bad-cwd":
      throw new HoldfastError("cwd-invalid", `${cwd} is not a directory in the sandbox, so the command did not run`, { facts: { cwd } });
    case "read-only":
      throw new HoldfastError("invalid-input", `${report.name} is read-only in session ${session}, so the command did not run`, {
        hint: "leave the variable out, or use another session",
        facts: { session, name: report.name },
      });
    default:
      throw new HoldfastError(
        "session-failed",
        `the state of session ${session} is ${report.kind === "damaged" ? "damaged" : "gone"}, so the command did not run`,
        {
          hint: `remove it with \`holdfast session rm ${session}\` and try again`,
          facts: { session },
        },
      );
  }
}
