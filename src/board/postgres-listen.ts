/** @module A connection to PostgreSQL that only listens, and is made anew whenever it is lost. */
import type { Client } from "pg";
import { systemClock, type Timer } from "../base/clock.ts";

export const CHANNEL = "holdfast_board";

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 5000;

export interface ListenOptions {
  readonly signal: () => void;
  /** The connection was lost; another one is on its way. */
  readonly onError: (error: unknown) => void;
}

/** @throws what the first connection fails with */
export async function listen(createClient: () => Client, { signal, onError }: ListenOptions): Promise<AsyncDisposable> {
  let ended = false;
  let timer: Timer | undefined;
  let connecting: Promise<void> = Promise.resolve();
  let current = await connect(createClient, signal, (error) => lost(error));

  const lost = (error: unknown) => {
    if (ended) return;
    onError(error);
    retryAfter(FIRST_PAUSE_MS);
  };
  const retryAfter = (pause: number) => {
    timer = systemClock.after(pause, () => {
      connecting = reconnect(pause);
    });
  };
  const reconnect = async (pause: number) => {
    try {
      current = await connect(createClient, signal, lost);
    } catch {
      // The server is not back yet, which `onError` has heard of.
      if (!ended) retryAfter(Math.min(pause * 2, LONGEST_PAUSE_MS));
      return;
    }
    // Whatever was said meanwhile was said to nobody.
    if (!ended) signal();
  };

  return {
    async [Symbol.asyncDispose]() {
      ended = true;
      timer?.cancel();
      await connecting;
      await current.end();
    },
  };
}

/** `lost` is called once, and only when it had been there. */
async function connect(createClient: () => Client, signal: () => void, lost: (error: unknown) => void): Promise<Client> {
  const client = createClient();
  let reason: unknown = new Error("the connection was closed");
  client.on("error", (error) => {
    reason = error;
  });
  client.on("notification", signal);
  try {
    await client.connect();
    await client.query(`listen ${CHANNEL}`);
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  client.once("end", () => lost(reason));
  return client;
}
