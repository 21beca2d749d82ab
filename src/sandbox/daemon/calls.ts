/** @module Commands run by the daemon: their output within credit, their input within the daemon's, their end. */

import { HoldfastError } from "../../base/errors.ts";
import type { OutputStream, SandboxProcess } from "../driver.ts";
import type { TerminalSize } from "../process.ts";
import { CAUSE_KILLED, type CommandStart, type DaemonEnd, encodeSize, encodeStart, readEnd, readStarted } from "./command-frames.ts";
import type { Channel, DaemonLink } from "./link.ts";
import { readFailed } from "./requests.ts";
import { createInputGate, createOutputQueue, type InputGate } from "./streams.ts";
import { FROM_CLIENT, FROM_DAEMON } from "./types.ts";
import { createReader, createWriter, type Frame, protocolError } from "./wire.ts";

/** How long the taker of the output may still take after a kill. */
const TAKER_LIMIT_MS = 2_000;
const KILL_LIMIT_MS = 10_000;
/** The daemon answers before the command has done anything, so this is only waited for on a machine that hardly moves. */
const START_LIMIT_MS = 30_000;

export interface DaemonCommand extends CommandStart {
  onOutput(chunk: Uint8Array, stream: OutputStream): void | Promise<void>;
}

export interface DaemonProcess extends SandboxProcess {
  readonly ended: Promise<DaemonEnd>;
  resize(size: TerminalSize): void;
}

export function startCall(link: DaemonLink, command: DaemonCommand): Promise<DaemonProcess> {
  const started = Promise.withResolvers<DaemonProcess>();
  const ended = Promise.withResolvers<DaemonEnd>();
  // Whoever holds the process awaits it; without this, a loss before the start would count as unhandled as well.
  ended.promise.catch(() => {});
  const gone = Promise.withResolvers<void>();
  const output = createOutputQueue(command.onOutput, () => channel);
  let input: InputGate | undefined;
  let over = false;
  let killed = false;

  const onStarted = (payload: Buffer) => {
    answer.cancel();
    const { pid, credit } = readStarted(payload);
    input = command.stdin === "pipe" ? createInputGate(channel, credit) : undefined;
    started.resolve({
      pid,
      stdin: input?.stream ?? null,
      ended: ended.promise,
      resize: (size) => channel.send(FROM_CLIENT.resize, encodeSize(size)),
      kill: ({ graceMs }) => kill(graceMs),
    });
  };
  const kill = async (graceMs: number) => {
    if (over) return;
    killed = true;
    channel.send(FROM_CLIENT.kill, createWriter().u32(graceMs).done());
    // The end is only told once the output before it has been, so a taker that takes nothing would hold it up.
    const taker = link.clock.after(graceMs + TAKER_LIMIT_MS, () => output.abandon());
    const cancelTaker = () => taker.cancel();
    ended.promise.then(cancelTaker, cancelTaker);
    const death = link.clock.after(graceMs + KILL_LIMIT_MS, () => link.abandon("it did not end a command in time"));
    await gone.promise;
    death.cancel();
  };
  const onEnded = (payload: Buffer) => {
    over = true;
    gone.resolve();
    input?.close();
    const end = readEnd(payload);
    // Somebody else had the daemon stopped, and everything in the sandbox with it.
    const stopped = end.cause === CAUSE_KILLED && !killed;
    // Not before the last chunk has been taken by the caller.
    output.drained().then(() => (stopped ? ended.reject(daemonStopped()) : ended.resolve(end)), ended.reject);
  };
  const onFailed = (payload: Buffer) => {
    const { errno, message } = readFailed(payload);
    over = true;
    answer.cancel();
    started.reject(
      new HoldfastError("spawn-failed", `the daemon cannot start ${command.argv[0]}: ${message}`, {
        facts: { program: command.argv[0], errno },
      }),
    );
  };
  const channel: Channel = link.open(FROM_CLIENT.start, encodeStart(command), {
    onFrame(frame: Frame) {
      const { type, payload } = frame;
      switch (type) {
        case FROM_DAEMON.started:
          onStarted(payload);
          return false;
        case FROM_DAEMON.output:
          output.add(frame);
          return false;
        case FROM_DAEMON.inputCredit:
          input?.grant(createReader(payload).u32());
          return false;
        case FROM_DAEMON.ended:
          onEnded(payload);
          return true;
        case FROM_DAEMON.failed:
          onFailed(payload);
          return true;
        default:
          throw protocolError(`a message of kind ${type} for a call`);
      }
    },
    onLost(error) {
      over = true;
      answer.cancel();
      gone.resolve();
      input?.close();
      started.reject(error);
      ended.reject(error);
    },
  });
  const answer = link.clock.after(START_LIMIT_MS, () => link.abandon("it did not start a command in time"));
  return started.promise;
}

function daemonStopped(): HoldfastError {
  return new HoldfastError("sandbox-lost", "the sandbox was stopped while the command ran", { facts: { mayHaveRun: true } });
}
