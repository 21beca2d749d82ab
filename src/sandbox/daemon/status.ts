/** @module What keeps a daemon busy, and when it may stop. */
import type { DaemonLink } from "./link.ts";
import { ANSWER_LIMIT_MS, request, unexpected } from "./requests.ts";
import { FROM_CLIENT, FROM_DAEMON } from "./types.ts";
import { createReader, createWriter, protocolError } from "./wire.ts";

export interface DaemonStatus {
  readonly uptimeMs: number;
  /** 0 while it is busy. */
  readonly idleMs: number;
  /** 0: never. */
  readonly idleStopSeconds: number;
  /** Who is connected; the daemon tells at most 512 of them. */
  readonly leases: readonly { readonly label: string; readonly connectedMs: number }[];
  readonly calls: number;
  readonly processes: number;
  readonly ptys: number;
  /** Empty before the first command. */
  readonly lastUsedFor: string;
}

export async function daemonStatus(link: DaemonLink): Promise<DaemonStatus> {
  let status: DaemonStatus | undefined;
  await request(link, FROM_CLIENT.status, createWriter().done(), {
    what: "ask the daemon for its status",
    facts: {},
    limitMs: ANSWER_LIMIT_MS,
    onFrame(frame) {
      if (frame.type !== FROM_DAEMON.status) return unexpected(frame);
      status = readStatus(frame.payload);
      return false;
    },
  });
  if (!status) throw protocolError("no status");
  return status;
}

/** From now on the daemon ends itself when it was not busy that long. 0: never. */
export function setIdleStop(link: DaemonLink, seconds: number): Promise<void> {
  return request(link, FROM_CLIENT.idleStop, createWriter().u32(seconds).done(), {
    what: "tell the daemon when to stop",
    facts: { seconds },
    limitMs: ANSWER_LIMIT_MS,
  });
}

function readStatus(payload: Buffer): DaemonStatus {
  const reader = createReader(payload);
  const uptimeMs = reader.u64();
  const idleMs = reader.u64();
  const idleStopSeconds = reader.u32();
  reader.u32();
  const calls = reader.u32();
  const processes = reader.u32();
  const ptys = reader.u32();
  const lastUsedFor = reader.str();
  const leases: { label: string; connectedMs: number }[] = [];
  // A count that is made up meets the end of the message.
  for (let left = reader.u32(); left > 0; left--) leases.push({ label: reader.str(), connectedMs: reader.u64() });
  reader.end();
  return { uptimeMs, idleMs, idleStopSeconds, leases, calls, processes, ptys, lastUsedFor };
}
