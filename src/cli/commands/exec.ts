/** @module holdfast exec: one command in a session, with its output as it comes and its status as ours. */
import { runInSandbox } from "../../app/operations/call-run.ts";
import { HoldfastError, systemCode } from "../../base/errors.ts";
import { DEFAULT_SESSION, DEFAULT_TASK } from "../../base/names.ts";
import type { CallOptions, CallResult } from "../../sandbox/call.ts";
import { addJsonFlag } from "../flags.ts";
import { EXIT_HANGUP, type Interrupt, onInterrupt } from "../interrupt.ts";
import type { Terminal } from "../render.ts";
import { openScreen } from "../screen.ts";
import { commandOf, envOption, terminalVariables, variables } from "../values.ts";
import { addHelpNotes, type RegisterVerb, type VerbInvocation } from "../verb.ts";

/** Longer than a command may take to end when asked to. */
const READER_LIMIT_MS = 3_000;

interface ExecFlags {
  task: string;
  session: string;
  timeout?: number;
  cwd?: string;
  env?: string[];
  stdin?: boolean;
  merge?: boolean;
  tty?: boolean;
  json?: boolean;
}

export const register: RegisterVerb = (command, { runner }) => {
  addJsonFlag(command)
    .usage("[options] [--] <command...>")
    .argument("<command...>", "one argument is shell text, several are run as they are")
    .option("-t, --task <name>", "the task whose sandbox to use", DEFAULT_TASK)
    .option("-s, --session <name>", "the shell state to use", DEFAULT_SESSION)
    .option("--timeout <seconds>", "end the command after this long (default: terminal.timeout)", parseSeconds)
    .option("--cwd <directory>", "run in this directory, for this call only")
    .addOption(envOption())
    .option("--stdin", "let the command read what is piped into holdfast")
    .option("--merge", "send standard error to standard output too, in the exact order of writing")
    .option("--tty", "run it on a terminal of its own, joined to the caller's; then only --timeout limits it")
    .passThroughOptions()
    .action((words: string[]) => runner.run(command, (invocation) => exec(words, invocation)));
  addHelpNotes(command, {
    examples: [
      ["holdfast exec -- 'cd src && export DEBUG=1'", "directory and variables stay"],
      ["holdfast exec -- pwd", "the next call, from any process, begins there"],
      ["holdfast exec --task build -- make test", "another task, another sandbox"],
      ["holdfast exec --timeout 10 -- sleep 60", "ends with status 124"],
      ["holdfast exec --tty -- vim notes", "a program that draws on the terminal"],
      ["git diff | holdfast exec --stdin -- wc -l", "input from a pipe"],
    ],
    exit: [
      ["0…", "the status of the command"],
      ["124", "the command was ended by the timeout"],
      ["125", "Holdfast itself failed; the message says why"],
      ["130", "interrupted (Ctrl-C); 143 after SIGTERM, 129 after SIGHUP or when the terminal went away"],
      ["141", "whoever read the output (| head) went away, which is noticed when the command writes next"],
    ],
  });
};

async function exec(words: string[], { app, terminal, flags }: VerbInvocation): Promise<number> {
  const { task, session, timeout, cwd, env = [], stdin, merge, tty, json } = flags as unknown as ExecFlags;
  using drawing = tty ? drawOn(terminal, flags as unknown as ExecFlags) : null;
  const abort = new AbortController();
  terminal.onOutputLoss(() => abort.abort());
  using interrupt = onInterrupt({
    first() {
      abort.abort();
      app.clock.after(READER_LIMIT_MS, terminal.abandonOutput, { background: true });
    },
    second() {
      terminal.abandonOutput();
      terminal.note("the command is being ended; once more stops waiting for that");
    },
  });
  const options: CallOptions = {
    session,
    signal: abort.signal,
    ...drawing?.options,
    ...(timeout === undefined ? {} : { timeoutMs: timeout * 1000 }),
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...(tty ? terminalVariables(app.environment) : {}), ...variables(env, app.environment) },
    ...(stdin ? { stdin: terminal.input } : {}),
    ...(merge ? { merge } : {}),
    ...(json ? {} : { onOutput: terminal.bytes, overflowFile: false }),
  };
  const command = commandOf(words);
  const result = await runInSandbox(app, task, { command, ...options }).catch((error: unknown) => {
    // The terminal went away under a command that reads from it.
    if (tty && systemCode(terminal.input.errored) === "EIO") return interrupt.exitStatus ?? EXIT_HANGUP;
    return endedEarly(error, interrupt);
  });
  drawing?.[Symbol.dispose]();
  if (typeof result === "number") return result;
  if (json) terminal.json({ profile: app.profile.name, task, ...result });
  else {
    if (terminal.outputPending) giveUpReader(terminal);
    tellAside(result, terminal);
  }
  return interrupt.exitStatus ?? result.exitCode;
}

/** A person can see for himself how long it takes, so there is no limit but one that was asked for. */
const NO_TIMEOUT_MS = 2_147_483_000;

/** From the start of the command until disposed, the caller's terminal belongs to it. */
function drawOn(terminal: Terminal, { stdin, merge, json }: ExecFlags): Disposable & { options: CallOptions } {
  const screen = openScreen(terminal);
  const [conflict] = Object.entries({ stdin, merge, json }).flatMap(([name, given]) => (given ? [name] : []));
  if (conflict !== undefined) {
    throw new HoldfastError("usage", `--tty and --${conflict} cannot be given together`, { hint: "leave one of them out" });
  }
  if (screen === null) {
    throw new HoldfastError("usage", "--tty needs a terminal for the input and the output of holdfast", { hint: "leave it out" });
  }
  const joined = new DisposableStack();
  const onStart: CallOptions["onStart"] = ({ resize }) => {
    joined.use(screen.raw());
    joined.use(screen.onResize(resize));
    resize(screen.size);
  };
  const options = { tty: screen.size, stdin: terminal.input, timeoutMs: NO_TIMEOUT_MS, onStart };
  return { options, [Symbol.dispose]: () => joined.dispose() };
}

/** A signal that comes before the command has begun is not a failure of ours. */
function endedEarly(error: unknown, { exitStatus }: Interrupt): number {
  if (exitStatus !== undefined && HoldfastError.isInstance(error) && error.code === "aborted") return exitStatus;
  throw error;
}

/** A call waits until its output is taken, unless it had to be ended and the reader did not read even then. */
function giveUpReader(terminal: Terminal): void {
  terminal.abandonOutput();
  terminal.note("the rest of the output was dropped, because its reader did not take it");
}

/** What happened beside the command's own output; nothing of it may get lost in a pipe, so it goes to standard error. */
function tellAside({ replaced, restarted, cwdRecovered, timedOut, durationMs, warnings }: CallResult, terminal: Terminal): void {
  if (replaced) terminal.note(`the sandbox was gone, so a new one was made; lost: ${replaced.lost.join(", ")}`);
  if (restarted) terminal.note("the sandbox had stopped and was started again; its background processes are gone");
  if (cwdRecovered) terminal.note(`${cwdRecovered.from} no longer exists, so the command ran in ${cwdRecovered.to}`);
  if (timedOut) terminal.note(`the command was ended after ${Math.round(durationMs / 100) / 10} s (timeout)`);
  for (const warning of warnings) terminal.warn(warning);
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && Number.isFinite(seconds) && seconds > 0) return seconds;
  throw new HoldfastError("usage", `--timeout needs a number of seconds above 0, not ${JSON.stringify(text)}`, {
    hint: "for example --timeout 30",
  });
}
