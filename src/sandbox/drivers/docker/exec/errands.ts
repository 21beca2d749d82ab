/** @module Short programs of our own in a container without a daemon, all in one shell, because each `exec` of its own costs a tenth of a second. */
import type { ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { spawnChild } from "../../../../base/child.ts";
import type { Clock, Timer } from "../../../../base/clock.ts";
import { randomId } from "../../../../base/ids.ts";
import { quoteArgv } from "../../../quote.ts";
import { splitFrames } from "./frames.ts";
import { ERRANDS_SCRIPT } from "./script.ts";

/** A client that only waits takes some tens of megabytes. */
const IDLE_MS = 5_000;
const LIMIT_MS = 30_000;
/** Far more than a session has; whatever writes more is not what it should be. */
const LARGEST_BYTES = 16 * 1024 * 1024;

export interface ErrandResult {
  readonly exitCode: number;
  readonly stdout: Uint8Array[];
  readonly stderr: Uint8Array[];
}

export interface Errands {
  /** One after the other. Null when the shell has gone, whatever the reason: the program may have run or not. */
  run(argv: readonly string[]): Promise<ErrandResult | null>;
  /** Ends when the one that is under way has. */
  close(): Promise<void>;
}

export interface ErrandOptions {
  readonly program: string;
  /** Of the engine's client, before the words of the shell. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

export function createErrands(options: ErrandOptions): Errands {
  let shell: ErrandShell | null = null;
  let last: Promise<unknown> = Promise.resolve();
  let idle: Timer | undefined;
  const stop = () => {
    shell?.child.stdin?.end();
    shell = null;
  };
  const runNext = async (argv: readonly string[]): Promise<ErrandResult | null> => {
    idle?.cancel();
    shell ??= openShell(options);
    const { child, streams } = shell;
    hold(child, true);
    child.stdin?.write(`${quoteArgv(argv).replaceAll("\n", `'"$hf_n"'`)}\n`);
    const limit = options.clock.after(LIMIT_MS, () => child.kill("SIGKILL"));
    const [stdout, stderr] = await Promise.all(
      streams.map(async (pieces) => {
        const part = await untilFrame(pieces);
        // A shell that waits until somebody reads on would never end the other stream.
        if (part.frame === null) child.kill("SIGKILL");
        return part;
      }),
    );
    limit.cancel();
    hold(child, false);
    if (stdout?.frame == null || stderr?.frame == null) {
      child.kill("SIGKILL");
      stop();
      return null;
    }
    idle = options.clock.after(IDLE_MS, stop, { background: true });
    return { exitCode: Number(stdout.frame.slice(1)), stdout: stdout.bytes, stderr: stderr.bytes };
  };

  return {
    run(argv) {
      const result = last.then(() => runNext(argv));
      last = result.catch(() => {});
      return result;
    },
    async close() {
      await last;
      idle?.cancel();
      stop();
    },
  };
}

type Pieces = AsyncGenerator<string | Uint8Array, void>;

interface ErrandShell {
  readonly child: ChildProcess;
  readonly streams: readonly Pieces[];
}

function openShell({ program, args, env }: ErrandOptions): ErrandShell {
  const token = randomId();
  // What fails about it shows as the end of its output.
  const child = spawnChild(program, [...args, "sh", "-c", ERRANDS_SCRIPT, "sh", token], { env, detached: true, stdio: "pipe" });
  return { child, streams: [child.stdout, child.stderr].map((stream: Readable) => splitFrames(stream, token)) };
}

/** While it is idle, nothing of it may keep this process alive. */
function hold(child: ChildProcess, held: boolean): void {
  for (const handle of [child, child.stdin, child.stdout, child.stderr])
    if (handle === child || handle instanceof Socket) handle[held ? "ref" : "unref"]();
}

/** `frame` is null when the stream has ended without one. */
async function untilFrame(pieces: Pieces): Promise<{ frame: string | null; bytes: Uint8Array[] }> {
  const bytes: Uint8Array[] = [];
  for (let size = 0; size <= LARGEST_BYTES; ) {
    // Not `for await`, which would close the stream behind the first frame.
    const { done, value } = await pieces.next();
    if (done) return { frame: null, bytes };
    if (typeof value === "string") return { frame: value, bytes };
    bytes.push(value);
    size += value.length;
  }
  return { frame: null, bytes: [] };
}
