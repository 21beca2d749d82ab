/**
 * @module Messages of MCP over two streams, one a line. It ends with its input, but not before every request in it has its answer: a client
 * may write, close its end, and then read, and what it asked for may have been done.
 */
import type { Readable, Writable } from "node:stream";
import {
  deserializeMessage,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
  SUBSCRIPTION_ID_META_KEY,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/server";
import { describeError, HoldfastError } from "../base/errors.ts";

export interface LineTransport extends Transport {
  /** Resolves when it has been closed, by either side. @throws `too-large`, `file-failed` when its input cannot be read on */
  readonly closed: Promise<void>;
}

const NEWLINE = 0x0a;
/** Of JSON-RPC. */
const INVALID_REQUEST = -32600;
const LONGEST_MESSAGE = 32 * 1024 * 1024;
/** For a subscription this is all of the answer that one can wait for: the other comes when it ends, which may be never. */
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

export function createLineTransport(input: Readable, output: Writable): LineTransport {
  let pieces: Buffer[] = [];
  let length = 0;
  const unanswered = new Set<RequestId>();
  const { promise: closed, resolve: onClosed, reject: onBroken } = Promise.withResolvers<void>();
  // Whoever serves may have given up on it before.
  closed.catch(() => {});
  let inputEnded = false;

  const closeWhenDone = () => {
    if (inputEnded && unanswered.size === 0) void transport.close();
  };
  const onEnd = () => {
    if (inputEnded) return;
    inputEnded = true;
    // Its last line may not be a whole one.
    takeLine();
    closeWhenDone();
  };
  const breakOff = (reason: HoldfastError) => {
    onBroken(reason);
    void transport.close();
  };
  const onInputError = (error: Error) =>
    breakOff(new HoldfastError("file-failed", `standard input cannot be read: ${describeError(error)}`, { cause: error }));
  /** Why is told by whoever looks after the terminal. */
  const onOutputError = () => void transport.close();
  const onData = (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      pieces.push(chunk.subarray(start, end));
      start = end + 1;
      takeLine();
    }
    pieces.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > LONGEST_MESSAGE)
      breakOff(new HoldfastError("too-large", `a message has more than ${LONGEST_MESSAGE} bytes, which are the most`));
  };
  const takeLine = () => {
    const line = Buffer.concat(pieces).toString().trim();
    pieces = [];
    length = 0;
    if (line === "") return;
    try {
      const message = deserializeMessage(line);
      if (isJSONRPCRequest(message)) unanswered.add(message.id);
      if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") settle(message.params?.requestId);
      transport.onmessage?.(message);
    } catch (error) {
      // The next line may be a message again.
      transport.onerror?.(new Error(`no message of MCP: ${line.slice(0, 80)}`, { cause: error }));
      const id = requestIn(line);
      const answer = { code: INVALID_REQUEST, message: "this is no request of MCP" };
      // An output that is gone is known without it.
      if (id !== null) transport.send({ jsonrpc: "2.0", id, error: answer }).catch(() => {});
    }
  };
  const settle = (id: unknown) => {
    unanswered.delete(id as RequestId);
    closeWhenDone();
  };

  const transport: LineTransport = {
    closed,
    async start() {
      input.on("data", onData).once("end", onEnd).once("close", onEnd).once("error", onInputError);
      output.once("error", onOutputError);
      // One that fails when we have hung up is of no interest, and must not end this process.
      input.on("error", () => {});
    },
    async send(message: JSONRPCMessage) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      output.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
      try {
        await promise;
      } finally {
        if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) settle(message.id);
        if (isJSONRPCNotification(message) && message.method === ACKNOWLEDGED) settle(message.params?._meta?.[SUBSCRIPTION_ID_META_KEY]);
      }
    },
    async close() {
      input.off("data", onData).off("end", onEnd).off("close", onEnd).off("error", onInputError).pause();
      pieces = [];
      onClosed();
      transport.onclose?.();
    },
  };
  return transport;
}

/** The id under which somebody waits for an answer to what is otherwise no message. */
function requestIn(line: string): RequestId | null {
  try {
    const { id, method } = JSON.parse(line) as { id?: unknown; method?: unknown };
    return typeof method === "string" && (typeof id === "string" || Number.isSafeInteger(id)) ? (id as RequestId) : null;
  } catch {
    // No JSON, or null.
    return null;
  }
}
