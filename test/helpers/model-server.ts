/** @module A model on loopback that answers by a script, and remembers what it was asked. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface RecordedRequest {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: { model: string; messages: { role: string; content: string }[]; max_tokens: number; temperature: number };
}

/** What the model says; or a whole answer; or `hang`, which never comes. */
export type Answer =
  | string
  | "hang"
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string; readonly says?: string };

export interface ModelServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly requests: readonly RecordedRequest[];
  /** Told with the number of requests so far. */
  next(): Promise<void>;
}

/** The last answer of the script is given again and again. */
export async function startModelServer(script: readonly Answer[]): Promise<ModelServer> {
  const requests: RecordedRequest[] = [];
  let told = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    void answer(request, response);
  });
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = JSON.parse(await text(request)) as RecordedRequest["body"];
    requests.push({ path: request.url ?? "", authorization: request.headers.authorization, body });
    told.resolve();
    told = Promise.withResolvers<void>();
    reply(response, script[Math.min(requests.length, script.length) - 1] ?? "");
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    next: () => told.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function reply(response: ServerResponse, given: Answer): void {
  if (given === "hang") return;
  const { status = 200, headers = {}, says, body } = typeof given === "string" ? { says: given } : given;
  const completion = JSON.stringify({ choices: [{ message: { role: "assistant", content: says ?? "" } }] });
  // A reader that has had enough hangs up.
  response.on("error", () => {});
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(body ?? completion);
}
