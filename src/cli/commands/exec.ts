/** @module holdfast exec: one command in a session, with its output as it comes and its status as ours. */
import { runInSandbox } from "../../app/operations/call-run.ts";
import { HoldfastError } from "../../base/errors.ts";
import { DEFAULT_SESSION, DEFAULT_TASK } from "../../base/names.ts";
import type { CallOptions, CallResult } from "../../sandbox/call.ts";
import { addJsonFlag } from "../flags.ts";
import { onInterrupt } from "../interrupt.ts";
import type { Terminal } from "../render.ts";
import { addHelpNotes, type RegisterVerb, type VerbInvocation } from "../verb.ts";

const EXIT_READER_GONE = 141;

interface ExecFlags {
  task: string;
  session: string;
  timeout?: number;
  cwd?: string;
  env?: string[];
  stdin?: boolean;
  json?: boolean;
}

export const register: RegisterVerb = (command, runner) => {
  addJsonFlag(command)
    .argument("<command...>", "one argument is shell text, several are run as they are")
    .option("-t, --task <name>", "the task whose sandbox to use", DEFAULT_TASK)
    .option("-s, --session <name>", "the shell state to use", DEFAULT_SESSION)
    .option("--timeout <seconds>", "end the command after this long (default: terminal.timeout)", parseSeconds)
    .option("--cwd <directory>", "run in this directory, for this call only")
    .option("-e, --env <name[=value]>", "set a variable for this call only; without a value, take the caller's; may be repeated", collect)
    .option("--stdin", "let the command read what is piped into holdfast")
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
      ["130", "interrupted (Ctrl-C)"],
    ],
  });
};

async function exec(words: string[], { app, terminal, flags }: VerbInvocation): Promise<number> {
  const { task, session, timeout, cwd, env, stdin, json } = flags as unknown as ExecFlags;
  const abort = new AbortController();
  terminal.onReaderGone(() => abort.abort());
  using interrupt = onInterrupt(() => abort.abort());
  const options: CallOptions = {
    session,
    signal: abort.signal,
    ...(timeout === undefined ? {} : { timeoutMs: timeout * 1000 }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env: variables(env, app.environment) }),
    ...(stdin ? { stdin: process.stdin } : {}),
    ...(json ? {} : { onOutput: (chunk, stream) => terminal.bytes(chunk, stream) }),
  };
  const result = await runInSandbox(app, task, { command: words.length === 1 ? (words[0] as string) : words, ...options });
  if (json) terminal.json({ profile: app.profile.name, task, ...result });
  else tellAside(result, terminal);
  if (terminal.readerGone) return EXIT_READER_GONE;
  return interrupt.exitStatus ?? result.exitCode;
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

function collect(text: string, before: string[] | undefined): string[] {
  return [...(before ?? []), text];
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && Number.isFinite(seconds) && seconds > 0) return seconds;
  throw new HoldfastError("usage", `--timeout needs a number of seconds above 0, not ${JSON.stringify(text)}`, {
    hint: "for example --timeout 30",
  });
}
