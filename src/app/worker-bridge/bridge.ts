/**
 * @module The verbs of the board in a sandbox that has neither the program nor the database: a small `holdfast` there leaves requests in a
 * directory of the run, a relay tells the supervisor, and that answers them in the name of the run (K28, K29).
 */
import { PassThrough } from "node:stream";
import { type Clock, type Timer, within } from "../../base/clock.ts";
import { describeError, HoldfastError } from "../../base/errors.ts";
import { randomId } from "../../base/ids.ts";
import { boardFiles } from "../../board/files.ts";
import type { Job } from "../../dispatcher/job.ts";
import { LONGEST_SECONDS } from "../../sandbox/options.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { type AnswerOptions, answerRequest } from "./answer.ts";
import { attachmentsInside } from "./attachments-inside.ts";
import { REQUEST_ID } from "./read-request.ts";
import type { VerbResult } from "./run-verb.ts";
import { clientScript, MAKE_DIRECTORY, type Patience, READY, RELAY } from "./scripts.ts";

export interface BridgeOptions extends Pick<AnswerOptions, "inside" | "program" | "plain" | "clock" | "beforeLastWord" | "afterLastWord"> {
  readonly sandbox: Sandbox;
  readonly patience?: Patience;
  /** One line about what the worker's people should know. */
  readonly say: (line: string) => void;
}

export interface Bridge {
  /** A directory of the sandbox with the worker's `holdfast`. */
  readonly bin: string;
  /** The text with the paths that attachments of the task have in the sandbox, to which they are copied. */
  bringAttachments(text: string): Promise<string>;
  /** Lets verbs that are under way come to their end, for a while. Never fails. */
  close(): Promise<void>;
}

const BEAT_MS = 20_000;
const PATIENCE: Patience = { stepSeconds: 5, steps: 12 };
const MOST_AT_ONCE = 8;
const LAST_VERBS_MS = 10_000;
const LONGEST_LINE = 32;

/** @throws when the sandbox cannot have one */
export async function openBridge(job: Job, options: BridgeOptions): Promise<Bridge> {
  const { sandbox, clock, say, patience = PATIENCE } = options;
  const session = `run-${job.run}`;
  const here = await makeDirectory(sandbox, job, { session, patience });
  const { files } = sandbox;
  const stop = new AbortController();
  const attachments = attachmentsInside({ board: job.board, boardFiles: boardFiles(job.home), files, directory: `${here}/attachments` });
  const underWay = new Map<string, Promise<void>>();
  const input = new PassThrough();
  const started = Promise.withResolvers<void>();
  const beat = startBeat(input, clock);

  const answer = async (id: string): Promise<void> => {
    const directory = `${here}/requests/${id}`;
    const result = await answerRequest(directory, { ...options, job, files, attachments, signal: stop.signal });
    try {
      await writeAnswer(sandbox, directory, result);
      if (!input.writableEnded) input.write(`${id} ${result.status}\n`);
    } catch (error) {
      // Whoever asked is gone with its directory.
      if (!(HoldfastError.isInstance(error) && error.code === "file-not-found"))
        say(`an answer could not be given: ${describeError(error)}`);
    }
  };
  const onLine = async (line: string): Promise<void> => {
    if (line === READY) started.resolve();
    if (!REQUEST_ID.test(line) || underWay.has(line)) return;
    // Until then nothing more is read, and the writers in the sandbox wait.
    while (underWay.size >= MOST_AT_ONCE) await Promise.race(underWay.values());
    underWay.set(
      line,
      answer(line).finally(() => underWay.delete(line)),
    );
  };
  const lines = lineReader(onLine);
  // In a sandbox that is lost there is nothing to tidy.
  const tidy = () => Promise.allSettled([files.remove(here, { recursive: true }), sandbox.sessions.remove(session)]);
  const relay = sandbox
    .run(["sh", "-c", RELAY, "sh", here], {
      session,
      stdin: input,
      timeoutMs: LONGEST_SECONDS * 1000,
      overflowFile: false,
      signal: stop.signal,
      onOutput: (chunk, stream) => (stream === "stdout" ? lines(chunk) : undefined),
    })
    .then(
      () => "it ended",
      (error: unknown) => describeError(error),
    );
  let closing = false;
  void relay.then((reason) => {
    beat.cancel();
    started.reject(new HoldfastError("spawn-failed", `the bridge to the board could not be started: ${reason}`));
    if (!closing) say(`the worker cannot reach the board any more, because its bridge was ended (${reason})`);
  });
  try {
    await started.promise;
  } catch (error) {
    await tidy();
    throw error;
  }

  return {
    bin: `${here}/bin`,
    bringAttachments: (text) => attachments.translate(text, [job.task]),
    async close() {
      closing = true;
      await within(Promise.allSettled([...underWay.values()]), { clock, limitMs: LAST_VERBS_MS, late: () => null });
      input.end();
      stop.abort();
      await relay;
      await Promise.allSettled(underWay.values());
      await tidy();
    },
  };
}

async function makeDirectory(sandbox: Sandbox, job: Job, { session, patience }: { session: string; patience: Patience }): Promise<string> {
  const name = `.holdfast-run-${job.run}-${randomId(8)}`;
  const { exitCode, stdout, stderr } = await sandbox.run(["bash", "-c", MAKE_DIRECTORY, "bash", name], {
    session,
    stdin: clientScript(patience),
  });
  if (exitCode === 0 && stdout.endsWith(`/${name}`)) return stdout;
  throw new HoldfastError(
    "spawn-failed",
    `the sandbox cannot have a bridge to the board: ${stderr.trim() || `it ended with ${exitCode}`}`,
    {
      hint: "use an image with mkfifo, and a /tmp in which programs may run",
    },
  );
}

async function writeAnswer({ files }: Sandbox, directory: string, { stdout, stderr }: VerbResult): Promise<void> {
  const options = { mode: 0o600, parents: false };
  await files.write(`${directory}/out`, stdout, options);
  await files.write(`${directory}/err`, stderr, options);
}

/** Whole lines only; one that is longer than any of ours is dropped with all that belongs to it. */
function lineReader(onLine: (line: string) => Promise<void>): (chunk: Uint8Array) => Promise<void> {
  let rest = "";
  let skipping = false;
  return async (chunk) => {
    const [first = "", ...more] = Buffer.from(chunk).toString("latin1").split("\n");
    const pieces = [rest + first, ...more];
    rest = pieces.pop() ?? "";
    for (const line of pieces) {
      if (!skipping && line.length <= LONGEST_LINE) await onLine(line);
      skipping = false;
    }
    if (rest.length <= LONGEST_LINE) return;
    rest = "";
    skipping = true;
  };
}

/** Whoever waits in the sandbox can tell from it that the supervisor lives. */
function startBeat(input: PassThrough, clock: Clock): Timer {
  let timer: Timer | undefined;
  const again = () => {
    input.write("beat\n");
    timer = clock.after(BEAT_MS, again);
  };
  again();
  return { cancel: () => timer?.cancel() };
}
