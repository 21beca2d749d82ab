/** @module From a request to its answer: the check, the words on the host, the verb itself, and what its output means in the sandbox. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { describeError, HoldfastError } from "../../base/errors.ts";
import type { Job } from "../../dispatcher/job.ts";
import type { Files } from "../../sandbox/files.ts";
import type { AttachmentsInside } from "./attachments-inside.ts";
import { onHost } from "./host-words.ts";
import { readRequest } from "./read-request.ts";
import { runVerb, type VerbResult } from "./run-verb.ts";
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
  const { job, files, inside, attachments, beforeLastWord, afterLastWord } = options;
  const { cwd, args, input } = await readRequest(files, directory);
  const given = readVerb(args, job);
  const copies = await mkdtemp(join(tmpdir(), "holdfast-worker-"));
  try {
    const workspace = { inside, outside: job.workspace };
    const verb = await onHost(given, { files, cwd, workspace, copies });
    const isLast = LAST_WORDS.includes(given.verb) && !given.words.some(({ option }) => option === "help");
    if (isLast) await beforeLastWord();
    // A worker may attach only what is in its workspace, and what it names is in the copies. Everywhere else its path is only told.
    const hasFiles = given.words.some(({ kind, value }) => kind === "file" && value !== "-");
    const result = await runVerb(job, writeVerb(verb), { ...options, input, workspace: hasFiles ? copies : inside });
    if (isLast && result.status === 0) afterLastWord();
    const inWords = async (bytes: Uint8Array) =>
      Buffer.from((await attachments.translate(Buffer.from(bytes).toString(), tasksOf(given, job))).replaceAll(copies, () => inside));
    return { status: result.status, stdout: await inWords(result.stdout), stderr: await inWords(result.stderr) };
  } finally {
    await rm(copies, { recursive: true, force: true });
  }
}

function tasksOf({ words }: GivenVerb, { task }: Job): string[] {
  const named = words.filter(({ option, value }) => option === null && TASK.test(value)).map(({ value }) => value);
  return [...new Set([task, ...named])];
}

function told(error: unknown): string {
  const hint = HoldfastError.isInstance(error) ? error.hint : undefined;
  return `error: ${describeError(error)}\n${hint ? `hint: ${hint}\n` : ""}`;
}
