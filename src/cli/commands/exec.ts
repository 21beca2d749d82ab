/** @module holdfast exec: one command in a session, with its output as it comes and its status as ours. */
import { Option } from "commander";
import { runInSandbox } from "../../app/operations/call-run.ts";
import { HoldfastError } from "../../base/errors.ts";
import { DEFAULT_SESSION, DEFAULT_TASK } from "../../base/names.ts";
import type { CallOptions, CallResult } from "../../sandbox/call.ts";
import { addJsonFlag, repeatable } from "../flags.ts";
import { type Interrupt, onInterrupt } from "../interrupt.ts";
import type { Terminal } from "../render.ts";
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
    .addOption(
      repeatable(
        new Option("-e, --env <name[=value]>", "set a variable for this call only; without a value, take the caller's; may be repeated"),
      ),
    )
    .option("--stdin", "let the command read what is piped into holdfast")
    .option("--merge", "send standard error to standard output too, in the exact order of writing")
    .passThroughOptions()
    .action((words: string[]) => runner.run(command, (invocation) => exec(words, invocation)));
  addHelpNotes(command, {
    examples: [
      ["holdfast exec -- 'cd src && export DEBUG=1'", "directory and variables stay"],
      ["holdfast exec -- pwd", "the next call, from any process, begins there"],
      ["holdfast exec --task build -- make test", "another task, another sandbox"],
      ["holdfast exec --timeout 10 -- sleep 60", "ends with status 124"],
      ["git diff | holdfast exec --stdin -- wc -l", "input from a pipe"],
    ],
    exit: [
      ["0…", "the status of the command"],
      ["124", "the command was ended by the timeout"],
      ["125", "Holdfast itself failed; the message says why"],
      ["130", "interrupted (Ctrl-C); 143 and 129 after SIGTERM and SIGHUP"],
      ["141", "whoever read the output went away"],
    ],
  });
};

async function exec(words: string[], { app, terminal, flags }: VerbInvocation): Promise<number> {
  const { task, session, timeout, cwd, env, stdin, merge, json } = flags as unknown as ExecFlags;
  const abort = new AbortController();
  terminal.onOutputLoss(() => abort.abort());
  using interrupt = onInterrupt({
    first() {
      abort.abort();
      app.clock.after(READER_LIMIT_MS, terminal.abandonOutput, { background: true });
    },
    second() {
      terminal.abandonOutput();
      terminal.note("the command is being ended; once more leaves it as it is");
    },
  });
  const options: CallOptions = {
    session,
    signal: abort.signal,
    ...(timeout === undefined ? {} : { timeoutMs: timeout * 1000 }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env: variables(env, app.environment) }),
    ...(stdin ? { stdin: terminal.input } : {}),
    ...(merge ? { merge } : {}),
    ...(json ? {} : { onOutput: terminal.bytes, overflowFile: false }),
  };
  const command = words.length === 1 ? (words[0] as string) : words;
  const result = await runInSandbox(app, task, { command, ...options }).catch((error: unknown) => endedEarly(error, interrupt));
  if (typeof result === "number") return result;
  if (json) terminal.json({ profile: app.profile.name, task, ...result });
  else {
    if (terminal.outputPending) giveUpReader(terminal);
    tellAside(result, terminal);
  }
  return interrupt.exitStatus ?? result.exitCode;
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
function tellAside({ replaced, cwdRecovered, timedOut, durationMs, warnings }: CallResult, terminal: Terminal): void {
  if (replaced) terminal.note(`the sandbox was gone, so a new one was made; lost: ${replaced.lost.join(", ")}`);
  if (cwdRecovered) terminal.note(`${cwdRecovered.from} no longer exists, so the command ran in ${cwdRecovered.to}`);
  if (timedOut) terminal.note(`the command was ended after ${Math.round(durationMs / 100) / 10} s (timeout)`);
  for (const warning of warnings) terminal.warn(warning);
}

function variables(settings: readonly string[], environment: VerbInvocation["app"]["environment"]): Record<string, string> {
  const entries = settings.map((setting): [string, string] => {
    const equals = setting.indexOf("=");
    if (equals >= 0) return [setting.slice(0, equals), setting.slice(equals + 1)];
    const value = environment[setting];
    if (value !== undefined) return [setting, value];
    throw new HoldfastError("usage", `--env ${setting} takes the caller's variable, but there is none of that name`, {
      hint: `write --env ${setting}=VALUE`,
    });
  });
  return Object.fromEntries(entries);
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && Number.isFinite(seconds) && seconds > 0) return seconds;
  throw new HoldfastError("usage", `--timeout needs a number of seconds above 0, not ${JSON.stringify(text)}`, {
    hint: "for example --timeout 30",
  });
}
