/** @module Serves MCP over the streams of a program. */
import type { Readable, Writable } from "node:stream";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { App } from "../app/create-app.ts";
import { aborted } from "../base/abort.ts";
import { describeError } from "../base/errors.ts";
import { createLineTransport } from "./line-transport.ts";
import { createServer } from "./server.ts";

export interface ServeOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Ends it, whatever is still unanswered. */
  readonly signal: AbortSignal;
}

/** Until the input has ended and all of it was answered. @throws what keeps the board from being opened */
export async function serveOver(app: App, { input, output, signal }: ServeOptions): Promise<void> {
  // Before anything is read: what is wrong with it is told once, and not by every answer.
  await app.kanban();
  const transport = createLineTransport(input, output);
  const server = serveStdio(() => createServer(app), {
    transport,
    onerror: (error) => app.log.warn(`what came was not understood, or its answer not taken: ${describeError(error)}`),
  });
  await Promise.race([transport.closed, aborted(signal)]);
  await server.close();
}
