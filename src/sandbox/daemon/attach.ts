/** @module A line into a running process: its output within our credit, its input within the daemon's. */
import { HoldfastError } from "../../base/errors.ts";
import type { ExitStatus } from "../driver.ts";
import type { Attachment, AttachOptions } from "../process.ts";
import { encodeSize } from "./command-frames.ts";
import type { DaemonLink } from "./link.ts";
import { about, readStatus } from "./processes.ts";
import { openRequest, readOpened, unexpected } from "./requests.ts";
import { createInputGate, createOutputQueue, type InputGate, OUTPUT_WINDOW } from "./streams.ts";
import { FROM_CLIENT, FROM_DAEMON } from "./types.ts";
import { createReader, createWriter, protocolError } from "./wire.ts";

export interface DaemonAttachment extends Omit<Attachment, "signal"> {
  signal(number: number): void;
}

export async function attachProcess(link: DaemonLink, id: string, { size, onOutput }: AttachOptions): Promise<DaemonAttachment> {
  const opened = Promise.withResolvers<InputGate>();
  let input: InputGate | undefined;
  let status: ExitStatus | null = null;
  const take = async (work: () => void | Promise<void>) => {
    try {
      await work();
    } catch (error) {
      // Nobody listens any more: the line is of no use.
      detach(error);
      throw error;
    }
  };
  const output = createOutputQueue(
    // A copy: the memory of a chunk is used again once it was taken.
    (chunk) => take(() => onOutput(new Uint8Array(chunk))),
    () => channel,
  );
  const payload = createWriter().str(id).bytes(encodeSize(size)).u32(OUTPUT_WINDOW).done();
  const { channel, done, detach } = openRequest(link, FROM_CLIENT.attach, payload, {
    ...about(id, "attach to"),
    onFrame(frame) {
      switch (frame.type) {
        case FROM_DAEMON.opened:
          // Again after a gap: then it only tells an offset, which nobody asks for here.
          input ??= openInput(readOpened(frame.payload).credit);
          opened.resolve(input);
          return false;
        case FROM_DAEMON.output:
          output.add(frame);
          return false;
        case FROM_DAEMON.inputCredit:
          input?.grant(createReader(frame.payload).u32());
          return false;
        case FROM_DAEMON.ended:
          status = readStatus(frame.payload);
          return true;
        default:
          return unexpected(frame);
      }
    },
  });
  const openInput = (credit: number): InputGate => {
    const gate = createInputGate(channel, credit);
    if (credit === 0)
      gate.stream.destroy(new HoldfastError("process-input-closed", `the input of process ${id} is not open`, { facts: { process: id } }));
    return gate;
  };
  const ended = done
    .finally(() => input?.close())
    .then(async () => {
      await output.drained();
      return status;
    });
  ended.then(() => opened.reject(protocolError("an end before the beginning")), opened.reject);
  const { stream } = await opened.promise;
  return {
    input: stream,
    resize: (next) => channel.send(FROM_CLIENT.resize, encodeSize(next)),
    signal: (number) => channel.send(FROM_CLIENT.signal, createWriter().u8(number).done()),
    detach() {
      output.abandon();
      detach();
    },
    ended,
  };
}
