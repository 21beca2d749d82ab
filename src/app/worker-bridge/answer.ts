/** @module From a request to its answer: the check, the words on the host, the verb itself, and what its output means in the sandbox. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { HoldfastError } from "../../base/errors.ts";
import type { Job } from "../../dispatcher/job.ts";
import type { Files } from "../../sandbox/files.ts";
import type { AttachmentsInside } from "./attachments-inside.ts";
import { isPath, onHost } from "./host-words.ts";
import { readRequest } from "./read-request.ts";
import { runVerb, type VerbResult } from "./run-verb.ts";
import { told } from "./told.ts";
import { readToolMessage, succeeded, type ToolMessage } from "./tool-call.ts";
import { type GivenVerb, readVerb, writeVerb } from "./verbs.ts";

export interface AnswerOptions {
  readonly job: Job;
  /** In the sandbox. */
  readonly files: Files;
  /** The path of the workspace in the sandbox. */
  readonly inside: string;
  readonly attachments: AttachmentsInside;
  readonly program: readonly string[];
  readonly plain: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** A verb that ends the run comes next: the host must have all of the work. */
  readonly beforeLastWord: () => Promise<void>;
  readonly afterLastWord: () => void;
}

const LAST_WORDS: readonly string[] = ["complete", "block", "request-review", "request-changes"];
const TASK = /^t_[0-9a-f]{8,}$/;

/** Never fails: what goes wrong is an answer, too. */
export async function answerRequest(directory: string, options: AnswerOptions): Promise<VerbResult> {
  try {
    return await perform(directory, options);
  } catch (error) {
    return {
      status: HoldfastError.isInstance(error) && error.code === "usage" ? 2 : 1,
      stdout: Buffer.alloc(0),
      stderr: Buffer.from(told(error)),
    };
  }
}

async function perform(directory: string, options: AnswerOptions): Promise<VerbResult> {
  const { cwd, args, input } = await readRequest(options.files, directory);
  if (args[0] === "mcp" && input !== null) return performTool(input, { ...options, cwd });
  const given = readVerb(args, options.job);
  const isHelp = given.words.some(({ option }) => option === "help");
  return onHostAs(given, { ...options, cwd, isLast: LAST_WORDS.includes(given.verb) && !isHelp }, async (verb, workspace) => {
    const result = await runVerb(options.job, writeVerb(verb), { ...options, input, workspace });
    return { ...result, succeeded: result.status === 0 };
  });
}

/** One message of MCP: whatever becomes of it, whoever waits for its answer gets one. */
async function performTool(input: Uint8Array, options: AnswerOptions & { cwd: string }): Promise<VerbResult> {
  let message: ToolMessage;
  try {
    message = readToolMessage(input);
  } catch (error) {
    // No failure, as on the host: the next line may be a message again.
    return { status: 0, stdout: Buffer.alloc(0), stderr: Buffer.from(told(error)) };
  }
  const given = { verb: message.verb ?? "", words: message.words };
  try {
    return await onHostAs(given, { ...options, isLast: LAST_WORDS.includes(given.verb) }, async ({ words }, workspace) => {
      const line = Buffer.from(message.line(words.map(({ value }) => value)));
      const result = await runVerb(options.job, ["mcp"], { ...options, input: line, workspace });
      if (result.status !== 0) throw new HoldfastError("spawn-failed", Buffer.from(result.stderr).toString().trim());
      return { ...result, succeeded: succeeded(Buffer.from(result.stdout).toString()) };
    });
  } catch (error) {
    return { status: 0, stdout: Buffer.from(message.failed(error)), stderr: Buffer.from(told(error)) };
  }
}

interface OnHostOptions extends AnswerOptions {
  /** Where it was called, in the sandbox. */
  readonly cwd: string;
  /** It ends the run if it succeeds. */
  readonly isLast: boolean;
}

/** Runs something with the words as they are on the host, and gives its output as it is in the sandbox. */
async function onHostAs(
  given: GivenVerb,
  options: OnHostOptions,
  run: (verb: GivenVerb, workspace: string) => Promise<VerbResult & { succeeded: boolean }>,
): Promise<VerbResult> {
  const { job, files, cwd, inside, attachments, isLast, beforeLastWord, afterLastWord } = options;
  const copies = await mkdtemp(join(tmpdir(), "holdfast-worker-"));
  try {
    const verb = await onHost(given, { files, cwd, workspace: { inside, outside: job.workspace }, copies });
    if (isLast) await beforeLastWord();
    // A worker may attach only what is in its workspace, and what it names is in the copies. Everywhere else its path is only told.
    const hasFiles = given.words.some(isPath);
    const result = await run(verb, hasFiles ? copies : inside);
    if (isLast && result.succeeded) afterLastWord();
    const inWords = async (bytes: Uint8Array) => {
      const text = Buffer.from(bytes).toString();
      return Buffer.from((await attachments.translate(text, await tasksFor(text, given, options))).replaceAll(copies, () => inside));
    };
    return { status: result.status, stdout: await inWords(result.stdout), stderr: await inWords(result.stderr) };
  } finally {
    await rm(copies, { recursive: true, force: true });
  }
}

/**
 * Whose attachments an answer names. A context names those of the tasks before its own, too. Which those are the board says: in the text of
 * the context others could have named any number of files, and all of them would be copied.
 */
async function tasksFor(text: string, given: GivenVerb, options: OnHostOptions): Promise<string[]> {
  const tasks = tasksOf(given, options.job);
  if (given.verb !== "context" || !options.attachments.namesOthers(text, tasks)) return tasks;
  const { status, stdout } = await runVerb(options.job, ["kanban", "show", "--json", "--", tasks.at(-1) ?? ""], {
    ...options,
    input: null,
    workspace: options.inside,
  });
  if (status !== 0) return tasks;
  const { parents } = JSON.parse(Buffer.from(stdout).toString()) as { parents: readonly { id: string }[] };
  return [...tasks, ...parents.map(({ id }) => id)];
}

function tasksOf({ words }: GivenVerb, { task }: Job): string[] {
  const named = words.filter(({ option, value }) => option === null && TASK.test(value)).map(({ value }) => value);
  return [...new Set([task, ...named])];
}
