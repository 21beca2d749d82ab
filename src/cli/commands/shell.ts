/** @module holdfast shell: a login in a sandbox, on the caller's terminal. */

import { startInSandbox } from "../../app/operations/process-start.ts";
import { findSandbox } from "../../app/sandbox-of-task.ts";
import { throwIfAborted } from "../../base/abort.ts";
import { HoldfastError } from "../../base/errors.ts";
import { DEFAULT_SESSION, DEFAULT_TASK } from "../../base/names.ts";
import type { AttachOptions, Processes } from "../../sandbox/process.ts";
import { attachTerminal } from "../attach-terminal.ts";
import { DEFAULT_DETACH_KEYS, parseDetachKeys } from "../detach-keys.ts";
import { interruptible } from "../interruptible.ts";
import { openScreen } from "../screen.ts";
import { terminalVariables } from "../values.ts";
import { addHelpNotes, type RegisterVerb, type VerbInvocation } from "../verb.ts";

/** Waits for our first key, so that nothing it shows is missed by a terminal that is joined a moment later. */
const LOGIN = "bash --login -i";
const WAIT_AND_LOGIN = `builtin read -r _; exec ${LOGIN}`;
/** Ends the waiting, and is the one key that a terminal never shows. */
const FIRST_KEY = "\u0004";

interface ShellFlags {
  task: string;
  session: string;
  cwd?: string;
  detachKeys: string;
}

export const register: RegisterVerb = (command, { runner }) => {
  command
    .option("-t, --task <name>", "the task whose sandbox to use", DEFAULT_TASK)
    .option("-s, --session <name>", "the shell state it begins with; nothing it changes is saved", DEFAULT_SESSION)
    .option("--cwd <directory>", "begin in this directory")
    .option("--detach-keys <keys>", "what to type to leave it running; none turns that off", DEFAULT_DETACH_KEYS)
    .action(() => runner.run(command, shell));
  addHelpNotes(command, {
    examples: [
      ["holdfast shell", "look around where the agent works; Ctrl-P Ctrl-Q leaves it running"],
      ["holdfast shell --task build --session review", "with the directory and variables of a session"],
    ],
    exit: [
      ["0…", "the status of the shell; 0 after leaving it running"],
      ["125", "Holdfast itself failed; the message says why"],
      ["129", "the terminal went away; 143 after SIGTERM; the shell was ended"],
    ],
  });
};

async function shell({ app, terminal, flags }: VerbInvocation): Promise<number> {
  const { task, session, cwd, detachKeys: keys } = flags as unknown as ShellFlags;
  const detachKeys = parseDetachKeys(keys);
  const screen = openScreen(terminal);
  if (screen === null) {
    throw new HoldfastError("usage", "holdfast shell needs a terminal for its input and its output", {
      hint: "use holdfast exec to run a command without one",
    });
  }
  return interruptible(terminal, async (signal) => {
    const env = terminalVariables(app.environment);
    const options = { name: "shell", session, env, tty: screen.size, ...(cwd === undefined ? {} : { cwd }) };
    const { processes, info, sandboxId } = await startInSandbox(app, task, { command: WAIT_AND_LOGIN, shown: LOGIN, options, signal });
    const { id } = info;
    const tidyUp = async () => {
      // Not in a sandbox that was removed meanwhile: using it would make it anew.
      if ((await findSandbox(app, task))?.id === sandboxId) await remove(processes, id);
      else terminal.note(`the sandbox of task ${task} was removed, and the shell with it`);
    };
    try {
      throwIfAborted(signal, "interrupted before the shell began");
      const attach = (choice: AttachOptions) => processes.attach(id, choice);
      const end = await attachTerminal(terminal, { screen, detachKeys, clock: app.clock, greeting: FIRST_KEY, attach });
      if (end.kind === "detached") {
        terminal.note(`the shell runs on; come back with: ${wayBack(id, { task, profile: flags.profile })}`);
        return 0;
      }
      await tidyUp();
      return end.kind === "ended" ? end.status.exitCode : end.exitStatus;
    } catch (error) {
      // The failure is told; that what it left could not be tidied up would say nothing new.
      await tidyUp().catch(() => {});
      throw error;
    }
  });
}

function wayBack(id: string, { task, profile }: { task: string; profile: string | undefined }): string {
  const word = (text: string) => (/^[\w.@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const place = [...(profile === undefined ? [] : ["-p", word(profile)]), ...(task === DEFAULT_TASK ? [] : ["-t", word(task)])];
  return ["holdfast", "process", "attach", ...place, id].join(" ");
}

/** A shell that nobody looks at any more is of no use to anybody; one that has ended only takes up a place in the list. */
async function remove(processes: Processes, id: string): Promise<void> {
  const { state } = await processes.get(id);
  if (state === "running") await processes.kill(id);
  await processes.remove(id);
}
