/** @module A connection to a container in which no daemon runs: every program is started by an `exec` of the engine's client. */
import type { Clock } from "../../../../base/clock.ts";
import { HoldfastError } from "../../../../base/errors.ts";
import { randomId } from "../../../../base/ids.ts";
import type { Connection, SandboxProcess, SandboxRef, SpawnOptions } from "../../../driver.ts";
import { createFilesOverSpawn } from "../../../files-over-spawn.ts";
import { processMarks, sandboxGone } from "../../shared/refs.ts";
import { assertRunning, OWN_PATH, STATE_PATH } from "../connect.ts";
import { type Containers, failure } from "../containers.ts";
import type { Engine } from "../engine.ts";
import { reasonOf } from "../engine-error.ts";
import { createErrands, type Errands } from "./errands.ts";
import { killLine } from "./kill.ts";
import { type ExecProcessOptions, saysNotRunning, startExec } from "./process.ts";
import { execLine } from "./script.ts";

const OPEN_LIMIT_MS = 30_000;
const ANSWER_LIMIT_MS = 10_000;

const FIRST_PROCESS = "/proc/1/stat";
/**
 * Closes the door to what is ours, as holdfastd would, and leaves its own variables, as every program there gets them, and behind them what
 * tells this start of the container from the next.
 */
const OPEN = [
  `umask 077; chmod 700 ${OWN_PATH} 2>/dev/null; mkdir -p ${STATE_PATH} && chmod 700 ${STATE_PATH}`,
  `exec cat /proc/self/environ ${FIRST_PROCESS}`,
].join(" && ");

export interface ExecConnectionOptions {
  readonly signal?: AbortSignal | undefined;
  readonly engine: Engine;
  /** The variables of the engine's client. */
  readonly clientEnv: Readonly<Record<string, string>>;
  readonly containers: Containers;
  readonly ref: SandboxRef;
  readonly restarted: boolean;
  readonly callVariables: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

export async function connectThroughExec(options: ExecConnectionOptions): Promise<Connection> {
  const { engine, clientEnv, containers, ref, restarted, callVariables, clock } = options;
  const { own, startedAt } = await openContainer(options);
  const lingering = new Set<Promise<void>>();
  let closed = false;
  const answers: ExecProcessOptions["answers"] = async () => {
    try {
      const { code, stdout, stderr } = await engine.run(["exec", "-w", "/", ref.id, "cat", FIRST_PROCESS], { limitMs: ANSWER_LIMIT_MS });
      if (code === 0) return startOf(stdout) === startedAt ? "yes" : "no";
      return saysNotRunning(stderr) ? "refused" : "no";
    } catch (error) {
      // An engine that hangs. What that means is for those to say who have more to ask of it.
      if (!HoldfastError.isInstance(error)) throw error;
      return "no";
    }
  };
  const whyGone: ExecProcessOptions["whyGone"] = async ({ mayHaveRun, certain = false }) => {
    const container = await containers.find(ref.id);
    if (container?.state === "running" && !certain) return null;
    const { message, facts } = sandboxGone("sandbox-lost", ref);
    const what =
      container === null
        ? message
        : `the container of task ${ref.owner.task} is ${container.state === "running" ? "ending" : container.status}`;
    return new HoldfastError("sandbox-lost", what, { facts: { ...facts, mayHaveRun } });
  };
  const errands = createErrands({ program: engine.program, args: ["exec", "-i", "-w", "/", ref.id], env: clientEnv, clock });
  const spawn: Connection["spawn"] = async (argv, { env, cwd = "/", stdin, merge = false, onOutput }) => {
    if (closed) throw new HoldfastError("closed", "the connection to the sandbox was closed, so nothing was started in it");
    const [call, token] = [randomId(), randomId()];
    const given = { env: env ?? {}, unset: env === undefined ? [] : own, marks: processMarks(ref.id, call) };
    const line = execLine({ argv, cwd, merge, input: stdin === "pipe", token, ...given });
    const variables = Object.keys(line.carried).flatMap((name) => ["-e", name]);
    const { clientGone, ...started } = await startExec({
      program: engine.program,
      // The directory that the image names may be gone.
      args: ["exec", ...(stdin === "pipe" ? ["-i"] : []), "-w", "/", ...variables, ref.id, ...line.argv],
      env: { ...clientEnv, ...line.carried },
      shown: { name: argv[0] ?? "", cwd },
      token,
      stdin,
      merge,
      onOutput,
      clock,
      answers,
      whyGone,
      async killTree({ graceMs, ...tree }) {
        const { argv: killer, limitMs } = killLine({ ...tree, call, token, graceMs });
        const { code, stdout, stderr } = await engine.run(["exec", "-w", "/", ref.id, ...killer], { limitMs });
        if (code === 0 || (await whyGone({ mayHaveRun: true })) !== null) return;
        const left = stdout.trim();
        throw new HoldfastError(
          "internal",
          `processes ${left || "of a command"} could not be ended: ${left ? "they do not go" : reasonOf(stderr)}`,
          {
            facts: { sandbox: ref.id, left },
          },
        );
      },
    });
    const linger = () => {
      lingering.add(clientGone);
      void clientGone.then(() => lingering.delete(clientGone));
    };
    started.ended.then(linger, linger);
    return started;
  };

  return {
    stateDir: STATE_PATH,
    restarted,
    callVariables,
    spawn,
    // What the shell of the errands cannot tell, because it was killed or the container is gone, a program of its own can.
    files: createFilesOverSpawn({
      spawn: async (argv, options) => (closed ? null : await runErrand(errands, argv, options)) ?? (await spawn(argv, options)),
    }),
    async [Symbol.asyncDispose]() {
      closed = true;
      await Promise.all([...lingering, errands.close()]);
    },
  };
}

/** Makes the state directory, and returns the names of the container's own variables, and when its first process began. */
async function openContainer({ engine, containers, ref, signal }: ExecConnectionOptions): Promise<{ own: string[]; startedAt: string }> {
  const { code, stdout, stderr } = await engine.run(["exec", "-w", "/", ref.id, "sh", "-c", OPEN], { limitMs: OPEN_LIMIT_MS, signal });
  if (code === 0) {
    const variables = stdout.split("\0");
    const startedAt = startOf(variables.pop() ?? "");
    return { own: variables.flatMap((variable) => variable.match(/^[^=]+(?==)/) ?? []), startedAt };
  }
  if ((await containers.find(ref.id)) === null) throw sandboxGone("sandbox-not-found", ref);
  await assertRunning(ref.id, containers);
  throw failure("exec", stderr);
}

/** In ticks since the machine was started. The name in parentheses before it may hold anything. */
function startOf(stat: string): string {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

/** Null when it has to be a program of its own: it has input, or the shell of the errands is gone. */
async function runErrand(errands: Errands, argv: readonly string[], { stdin, onOutput }: SpawnOptions): Promise<SandboxProcess | null> {
  const result = stdin === "none" ? await errands.run(argv) : null;
  if (result === null) return null;
  for (const chunk of result.stdout) await onOutput(chunk, "stdout");
  for (const chunk of result.stderr) await onOutput(chunk, "stderr");
  return { pid: 0, stdin: null, ended: Promise.resolve({ exitCode: result.exitCode, signal: null }), kill: async () => {} };
}
