/** @module Running programs through a connection and waiting for what they say. */
import { expect } from "vitest";
import type { Connection, ExitStatus, OutputStream, SandboxProcess, SpawnOptions } from "../../src/sandbox/driver.ts";

export interface Finished extends ExitStatus {
  readonly pid: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

export interface CollectOptions extends Partial<Omit<SpawnOptions, "stdin" | "onOutput">> {
  readonly input?: string | Uint8Array;
}

/** Runs a program to its end and returns all it wrote. */
export async function collect(
  connection: Connection,
  argv: readonly string[],
  { input, ...options }: CollectOptions = {},
): Promise<Finished> {
  const transcript = createTranscript();
  const process = await connection.spawn(argv, {
    ...options,
    stdin: input === undefined ? "none" : "pipe",
    onOutput: (chunk, stream) => transcript.add(chunk, stream),
  });
  process.stdin?.end(input);
  const status = await process.ended;
  return { ...status, pid: process.pid, stdout: transcript.bytes("stdout"), stderr: transcript.bytes("stderr") };
}

/** What `bash -c script` prints; it must succeed. */
export async function printed(connection: Connection, script: string, ...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await collect(connection, ["bash", "-c", script, "bash", ...args]);
  expect({ exitCode, stderr: stderr.toString() }).toEqual({ exitCode: 0, stderr: "" });
  return stdout.toString().trimEnd();
}

export interface Started {
  readonly process: SandboxProcess;
  /** Resolves with all that was printed so far, as soon as it holds `text`. */
  untilPrinted(text: string | RegExp): Promise<string>;
}

/** Starts a program and lets it run. */
export async function start(connection: Connection, script: string, ...args: readonly string[]): Promise<Started> {
  const transcript = createTranscript();
  const process = await connection.spawn(["bash", "-c", script, "bash", ...args], {
    stdin: "none",
    onOutput: (chunk, stream) => transcript.add(chunk, stream),
  });
  return { process, untilPrinted: (text) => transcript.until(text) };
}

export interface Transcript {
  add(chunk: Uint8Array, stream: OutputStream): void;
  bytes(stream: OutputStream): Buffer;
  until(text: string | RegExp): Promise<string>;
}

export function createTranscript(): Transcript {
  const chunks: { stream: OutputStream; bytes: Uint8Array }[] = [];
  const waiting = new Set<() => void>();
  const all = () => Buffer.concat(chunks.map(({ bytes }) => bytes)).toString();
  return {
    add(chunk, stream) {
      chunks.push({ stream, bytes: new Uint8Array(chunk) });
      for (const look of [...waiting]) look();
    },
    bytes: (stream) => Buffer.concat(chunks.filter((chunk) => chunk.stream === stream).map(({ bytes }) => bytes)),
    until(text) {
      return new Promise((resolve) => {
        const look = () => {
          if (all().search(text) < 0) return;
          waiting.delete(look);
          resolve(all());
        };
        waiting.add(look);
        look();
      });
    },
  };
}

/** Which of the processes still run. Ended ones that nobody has waited for do not count. */
export async function alive(connection: Connection, pids: readonly (number | string)[]): Promise<string[]> {
  const script = `for pid; do
  if read -r _ _ state _ 2>/dev/null </proc/$pid/stat && [[ $state != Z ]]; then echo "$pid"; fi
done 2>/dev/null; exit 0`;
  const found = await printed(connection, script, ...pids.map(String));
  return found.split("\n").filter(Boolean);
}
