/** @module One program that a client of the engine has started in a container: its streams, its end, and the loss of the container. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import { spawnChild } from "../../../../base/child.ts";
import type { Clock } from "../../../../base/clock.ts";
import { describeError, HoldfastError, systemCode } from "../../../../base/errors.ts";
import type { ExitStatus, OutputStream, SandboxProcess, SpawnOptions } from "../../../driver.ts";
import { classify, reasonOf } from "../engine-error.ts";
import { createTaker, followStream } from "./output.ts";

/** On a busy machine an engine takes seconds; one that hangs takes for ever. */
const START_LIMIT_MS = 60_000;
/** How long the taker of the output may still take after a kill. */
const TAKER_LIMIT_MS = 2_000;
/** A client whose program has ended ends as well, unless a background process still holds the output. */
const LINGER_MS = 500;
/** What clients answer when the engine refuses; our own shells never end with them before they have said something. */
const REFUSED = [1, 125];
const ENOENT = 2;

export interface Tree {
  readonly root: number;
  readonly rootEnded: boolean;
  readonly around: number;
}

export interface ExecProcessOptions extends Pick<SpawnOptions, "stdin" | "onOutput"> {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** For messages. */
  readonly shown: { readonly name: string; readonly cwd: string };
  readonly token: string;
  readonly merge: boolean;
  readonly clock: Clock;
  /** Whether the container that the program was started in still runs programs. `refused`: the engine says that it does not run. */
  answers(): Promise<"yes" | "refused" | "no">;
  /** Null when the container still runs; `certain`: it does not for long, whatever it looks like. */
  whyGone(of: { readonly mayHaveRun: boolean; readonly certain?: boolean }): Promise<HoldfastError | null>;
  killTree(tree: Tree & { readonly graceMs: number }): Promise<void>;
}

interface ClientEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export async function startExec(options: ExecProcessOptions): Promise<SandboxProcess & { readonly clientGone: Promise<void> }> {
  const { token, merge, onOutput, clock, answers, whyGone, killTree } = options;
  const child = await startClient(options);
  const exited = new Promise<ClientEnd>((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
  const taker = createTaker(onOutput);
  const head = Promise.withResolvers<string | null>();
  // Output may come together with the word that the program runs, and nobody expects any before they have the process.
  const handedOver = Promise.withResolvers<void>();
  const take = async (chunk: Uint8Array, name: OutputStream) => {
    await handedOver.promise;
    await taker.take(chunk, name);
  };
  const follow = (name: OutputStream) =>
    followStream(child[name] as Readable, { token, onHead: head.resolve, take: (chunk) => take(chunk, name) });
  // Merged, standard error has words of the client only.
  const streams = [follow("stdout"), follow("stderr")];
  const heard = Promise.all(merge ? streams.slice(0, 1) : streams);
  Promise.all(streams).then(() => head.resolve(null), head.reject);
  let rootEnded = false;
  let killed = false;

  const limit = clock.after(START_LIMIT_MS, () => head.reject(notInTime(options.shown)));
  const begun = await head.promise.catch((error: unknown) => {
    endClient(child, { clock, exited });
    throw error;
  });
  limit.cancel();
  const place = /^\+(\d+) (\d+)$/.exec(begun ?? "");
  if (place === null) {
    // The shells around it take what is left of the input, to its end.
    child.stdin?.destroy();
    const { code } = await exited;
    const said = (await Promise.all(streams)).map(({ before }) => before).join("\n");
    const refused = saysNotRunning(said);
    // Words that mean nothing to us may be about a container that has just ended.
    const certain = refused || (begun === null && (await answers()) === "refused");
    const gone = begun === null ? await whyGone({ mayHaveRun: !refused && !REFUSED.includes(code ?? 0), certain }) : null;
    throw gone ?? notStarted(options.shown, { begun, code, said });
  }
  const tree = { root: Number(place[1]), around: Number(place[2]) };
  const ended = heard.then(async ([out]) => {
    rootEnded = true;
    endClient(child, { clock, exited });
    const status = out?.status ?? null;
    const end = status === null ? await endWithoutWord(await exited, { answers: killed ? null : answers, whyGone }) : exitStatus(status);
    taker.throwIfFailed();
    return end;
  });
  // Whoever holds the process awaits it.
  ended.catch(() => {});
  const limitTaker = () => {
    const timer = clock.after(TAKER_LIMIT_MS, taker.abandon);
    const cancel = () => timer.cancel();
    ended.then(cancel, cancel);
  };
  setImmediate(handedOver.resolve);
  return {
    pid: tree.root,
    stdin: child.stdin,
    ended,
    kill({ graceMs }) {
      killed = true;
      return killTree({ ...tree, rootEnded, graceMs }).finally(limitTaker);
    },
    clientGone: exited.then(() => {}),
  };
}

async function startClient({ program, args, env, stdin, shown }: ExecProcessOptions): Promise<ChildProcess> {
  try {
    // A group of its own: Ctrl-C in the terminal is for us to handle.
    const child = spawnChild(program, args, { env, detached: true, stdio: [stdin === "pipe" ? "pipe" : "ignore", "pipe", "pipe"] });
    await once(child, "spawn");
    return child;
  } catch (error) {
    // Node's own message may hold the value of a variable.
    const code = systemCode(error);
    const reason = code?.startsWith("ERR_INVALID") ? "a NUL byte is in its arguments or variables" : describeError(error);
    throw new HoldfastError("spawn-failed", `cannot start ${shown.name}: ${reason}`, { facts: { ...shown, systemCode: code } });
  }
}

/** Whether a client that was refused says that the container does not run. */
export function saysNotRunning(said: string): boolean {
  return ["not-running", "no-such-container", "being-removed"].includes(classify(said));
}

/**
 * The shells around the program were killed along with it, or the container was, of which the engine may not have heard yet: a status is
 * believed when we killed them ourselves, else only of a container that answers.
 */
async function endWithoutWord(
  { code, signal }: ClientEnd,
  { answers, whyGone }: Pick<ExecProcessOptions, "whyGone"> & { readonly answers: ExecProcessOptions["answers"] | null },
): Promise<ExitStatus> {
  const lost = (reason: string, cause?: unknown) => new HoldfastError("sandbox-lost", reason, { facts: { mayHaveRun: true }, cause });
  const certain = answers !== null && code !== null && code > 128 && (await answers()) !== "yes";
  const gone = await whyGone({ mayHaveRun: true, certain }).catch((error: unknown) =>
    lost(`the end of the command is not known: ${describeError(error)}`, error),
  );
  if (gone) throw gone;
  if (code === null || code <= 128) throw lost(`the engine's client ended before the command did, with ${signal ?? `status ${code}`}`);
  return exitStatus(code);
}

/** Nothing of it may keep this process alive. */
function endClient(child: ChildProcess, { clock, exited }: { clock: Clock; exited: Promise<unknown> }): void {
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
  child.unref();
  const timer = clock.after(LINGER_MS, () => child.kill("SIGKILL"), { background: true });
  void exited.then(() => timer.cancel());
}

/** Of the number alone it cannot be said whether a signal ended the program, or the program says so of one that it has run. */
function exitStatus(exitCode: number): ExitStatus {
  const [signal = null] = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128) ?? [];
  return { exitCode, signal };
}

/** Nobody knows whether the engine still starts it. */
function notInTime({ name, cwd }: ExecProcessOptions["shown"]): HoldfastError {
  return new HoldfastError("operation-timeout", `the engine did not start ${name} within ${START_LIMIT_MS / 1000} s`, {
    facts: { name, cwd, mayHaveRun: true },
  });
}

function notStarted(
  { name, cwd }: ExecProcessOptions["shown"],
  { begun, code, said }: { begun: string | null; code: number | null; said: string },
): HoldfastError {
  if (begun === "-directory")
    return new HoldfastError("spawn-failed", `cannot start ${name}: there is no directory ${cwd}`, { facts: { name, cwd } });
  if (begun === "-program")
    return new HoldfastError("spawn-failed", `${name || "a program without a name"} is not a program in the sandbox`, {
      facts: { name, cwd, errno: ENOENT },
    });
  return new HoldfastError("spawn-failed", `cannot start ${name}: ${reasonOf(said)}`, { facts: { name, cwd, status: code } });
}
