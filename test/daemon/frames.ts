/** @module The payloads of the protocol, as the tests of the daemon write and read them. */
import { FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { createReader, createWriter, encodeFrame } from "../../src/sandbox/daemon/wire.ts";

/** Credit that no test uses up. */
export const PLENTY = 2 ** 30;
export const FLAG = { input: 1, merge: 2, pty: 4 } as const;

export interface StartOptions {
  readonly kind?: number;
  readonly flags?: number;
  readonly timeout?: number;
  readonly grace?: number;
  readonly credit?: number;
  readonly rows?: number;
  readonly columns?: number;
  readonly cap?: number;
  readonly cwd?: string;
  readonly state?: string;
  readonly name?: string;
  readonly shown?: string;
  readonly env?: readonly string[];
}

/** A text is a script for bash. */
export function startPayload(command: string | readonly string[], options: StartOptions = {}): Buffer {
  const { kind = 0, flags = 0, timeout = 0, grace = 1000, credit = PLENTY, rows = 24, columns = 80, cap = 0 } = options;
  const { cwd = "", state = "", name = "", shown = "shown", env = [`PATH=${process.env.PATH}`] } = options;
  return createWriter()
    .u8(kind)
    .u8(flags)
    .u32(timeout)
    .u32(grace)
    .u32(credit)
    .u16(rows)
    .u16(columns)
    .u64(cap)
    .str(cwd)
    .str(state)
    .str(name)
    .str(shown)
    .list(typeof command === "string" ? ["bash", "--norc", "-c", command] : command)
    .list(env)
    .done();
}

export interface Ended {
  readonly code: number;
  readonly signal: number;
  readonly cause: number;
  readonly saved: number;
  readonly report: string;
  readonly reason: string;
}

export function readEnded(payload: Buffer): Ended {
  const reader = createReader(payload);
  const [code, signal, cause, saved] = [reader.u8(), reader.u8(), reader.u8(), reader.u8()];
  const [report, reason] = [reader.str(), reader.str()];
  reader.end();
  return { code, signal, cause, saved, report, reason };
}

export interface ProcessEntry {
  readonly id: string;
  readonly name: string;
  readonly pid: number;
  readonly ended: boolean;
  readonly code: number;
  readonly signal: number;
  readonly cause: number;
  readonly pty: number;
  readonly input: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly bytes: number;
  readonly command: string;
}

export function readProcess(payload: Buffer): ProcessEntry {
  const reader = createReader(payload);
  const [id, name, pid, state] = [reader.str(), reader.str(), reader.u32(), reader.u8()];
  const [code, signal, cause, pty, input] = [reader.u8(), reader.u8(), reader.u8(), reader.u8(), reader.u8()];
  const [startedAt, endedAt, bytes, command] = [reader.u64(), reader.u64(), reader.u64(), reader.str()];
  reader.end();
  return { id, name, pid, ended: state === 1, code, signal, cause, pty, input, startedAt, endedAt, bytes, command };
}

export interface Status {
  readonly uptime: number;
  readonly idle: number;
  readonly idleStop: number;
  readonly leases: number;
  readonly calls: number;
  readonly processes: number;
  readonly ptys: number;
  readonly lastUsedFor: string;
  readonly labels: readonly string[];
}

export function readStatus(payload: Buffer): Status {
  const reader = createReader(payload);
  const [uptime, idle, idleStop, leases] = [reader.u64(), reader.u64(), reader.u32(), reader.u32()];
  const [calls, processes, ptys, lastUsedFor] = [reader.u32(), reader.u32(), reader.u32(), reader.str()];
  const labels = Array.from({ length: reader.u32() }, () => {
    const label = reader.str();
    reader.u64();
    return label;
  });
  reader.end();
  return { uptime, idle, idleStop, leases, calls, processes, ptys, lastUsedFor, labels };
}

export interface Entry {
  readonly name: string;
  readonly kind: number;
  readonly mode: number;
  readonly size: number;
  readonly target: string;
}

export function readEntry(payload: Buffer): Entry {
  const reader = createReader(payload);
  const [name, kind, mode, size] = [reader.str(), reader.u8(), reader.u32(), reader.u64()];
  reader.u64();
  const target = reader.str();
  reader.end();
  return { name, kind, mode, size, target };
}

export interface Opened {
  readonly credit: number;
  readonly offset: number;
}

export function readOpened(payload: Buffer): Opened {
  const reader = createReader(payload);
  const [credit, offset] = [reader.u32(), reader.u64()];
  reader.end();
  return { credit, offset };
}

/** What a FAILED says, to be thrown. */
export function failure(payload: Buffer): Error & { errno: number } {
  const reader = createReader(payload);
  const errno = reader.u32();
  return Object.assign(new Error(reader.str()), { errno });
}

export function u32(value: number): Buffer {
  return createWriter().u32(value).done();
}

export function u16s(...values: number[]): Buffer {
  const writer = createWriter();
  for (const value of values) writer.u16(value);
  return writer.done();
}

export function str(value: string | Uint8Array): Buffer {
  return createWriter().str(value).done();
}

/** An answer that closes a channel. */
export const doneFrame = (channel: number): Buffer => encodeFrame(FROM_DAEMON.done, channel);
