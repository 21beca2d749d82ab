/** @module Background processes as the daemon has them. */
import type { Abortable, ExitStatus } from "../driver.ts";
import type { LogChunk, LogOptions, ProcessInfo } from "../process.ts";
import { type CommandStart, encodeStart, exitStatus, type ProcessStart, readEnd, readStarted } from "./command-frames.ts";
import type { DaemonLink } from "./link.ts";
import { pullOutput } from "./pulled-output.ts";
import { ANSWER_LIMIT_MS, type Purpose, request, unexpected } from "./requests.ts";
import { OUTPUT_WINDOW } from "./streams.ts";
import { FROM_CLIENT, FROM_DAEMON } from "./types.ts";
import { createReader, createWriter, protocolError } from "./wire.ts";

/** Under what the daemon keeps for a process that does not read. */
const LONGEST_WRITE = 64 * 1024;
const MOST_PROCESSES = 64;
const STATE_RUNNING = 0;

/** Returns its id. */
export async function startProcess(link: DaemonLink, command: CommandStart, start: ProcessStart): Promise<string> {
  let id = "";
  await request(link, FROM_CLIENT.start, encodeStart(command, start), {
    what: "start the process",
    facts: { command: command.shown },
    meanings: { EAGAIN: "process-limit", ENOENT: "spawn-failed" },
    otherwise: "spawn-failed",
    onFrame(frame) {
      if (frame.type !== FROM_DAEMON.started) return unexpected(frame);
      ({ id } = readStarted(frame.payload));
      return false;
    },
  });
  return id;
}

export async function listProcesses(link: DaemonLink): Promise<ProcessInfo[]> {
  const found: ProcessInfo[] = [];
  await request(link, FROM_CLIENT.processes, createWriter().done(), {
    what: "list the processes",
    facts: {},
    limitMs: ANSWER_LIMIT_MS,
    onFrame(frame) {
      if (frame.type !== FROM_DAEMON.process) return unexpected(frame);
      if (found.push(readProcess(frame.payload)) > MOST_PROCESSES) throw protocolError("more processes than there can be");
      return false;
    },
  });
  return found;
}

/** `from` counts from the first byte. Returns how the process ended, with `follow`. */
export async function* readLog(
  link: DaemonLink,
  id: string,
  { from = 0, follow = false, signal }: LogOptions,
): AsyncGenerator<LogChunk, ExitStatus | null> {
  const payload = createWriter()
    .str(id)
    .u64(from)
    .u8(follow ? 1 : 0)
    .u32(OUTPUT_WINDOW)
    .done();
  const output = pullOutput(link, FROM_CLIENT.readLog, payload, { ...about(id, "read the output of"), ...(signal ? { signal } : {}) });
  try {
    for (let chunk = await output.next(); chunk !== null; chunk = await output.next()) yield chunk;
    return await output.ended;
  } finally {
    output.detach();
  }
}

export async function waitForProcess(link: DaemonLink, id: string, options: Abortable): Promise<ExitStatus> {
  let status: ExitStatus | undefined;
  await request(link, FROM_CLIENT.wait, createWriter().str(id).done(), {
    ...options,
    ...about(id, "wait for"),
    onFrame(frame) {
      if (frame.type !== FROM_DAEMON.ended) return unexpected(frame);
      status = readStatus(frame.payload);
      return true;
    },
  });
  if (status === undefined) throw protocolError("no status of a process that has ended");
  return status;
}

export function killProcess(link: DaemonLink, id: string, graceMs: number): Promise<void> {
  return request(link, FROM_CLIENT.killProcess, createWriter().str(id).u32(graceMs).done(), about(id, "end"));
}

/** @throws `process-not-found` also when it has ended */
export function signalProcess(link: DaemonLink, id: string, signal: number): Promise<void> {
  return request(link, FROM_CLIENT.signalProcess, createWriter().str(id).u8(signal).done(), about(id, "signal"));
}

export async function writeProcess(link: DaemonLink, id: string, { bytes, end }: { bytes: Uint8Array; end: boolean }): Promise<void> {
  for (let offset = 0; offset === 0 || offset < bytes.length; offset += LONGEST_WRITE) {
    const part = bytes.subarray(offset, offset + LONGEST_WRITE);
    const last = offset + part.length === bytes.length;
    const payload = createWriter()
      .str(id)
      .u8(end && last ? 1 : 0)
      .bytes(part)
      .done();
    await request(link, FROM_CLIENT.writeProcess, payload, { ...about(id, "write to"), meanings: { ...GONE, EAGAIN: "busy" } });
  }
}

export function forgetProcess(link: DaemonLink, id: string): Promise<void> {
  return request(link, FROM_CLIENT.forgetProcess, createWriter().str(id).done(), about(id, "remove"));
}

/** A reader whose process is removed meanwhile is told ENOENT. */
const GONE = { ENOENT: "process-not-found" } as const;

export function about(id: string, what: string): Purpose {
  return { what: `${what} process ${id}`, facts: { process: id }, meanings: GONE };
}

export function readStatus(payload: Buffer): ExitStatus {
  const { exitCode, signal } = readEnd(payload);
  return { exitCode, signal };
}

function readProcess(payload: Buffer): ProcessInfo {
  const reader = createReader(payload);
  const id = reader.str();
  const name = reader.str();
  const pid = reader.u32();
  const running = reader.u8() === STATE_RUNNING;
  const code = reader.u8();
  const signal = reader.u8();
  reader.u8();
  const tty = reader.u8() === 1;
  const inputOpen = reader.u8() === 1;
  const startedAt = reader.u64();
  const endedAt = reader.u64();
  const outputBytes = reader.u64();
  const command = reader.str();
  reader.end();
  return {
    id,
    name,
    command,
    pid,
    state: running ? "running" : "ended",
    ...(running ? { exitCode: null, signal: null } : exitStatus(code, signal)),
    tty,
    inputOpen,
    startedAt,
    endedAt: running ? null : endedAt,
    outputBytes,
  };
}
