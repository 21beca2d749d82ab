/** @module Asks a model one question: any endpoint that takes OpenAI's chat completions, over plain HTTP, with limits on time and size. */
import { type Clock, delay } from "../base/clock.ts";
import { HoldfastError, systemCode } from "../base/errors.ts";
import { checkKey, endpointOf } from "./endpoint.ts";
import { contentOf, readLimited, reasonOf } from "./read-answer.ts";
import { retryDelay } from "./retry-delay.ts";

/** The first attempt and two more. */
const ATTEMPTS = 3;
const BACKOFF_MS = 1000;

export interface ModelOptions {
  /** Up to and without /chat/completions. */
  readonly baseUrl: string;
  readonly name: string;
  /** Undefined: the endpoint wants none. Never part of an error or a log. */
  readonly key: string | undefined;
  /** Of all attempts together. */
  readonly timeoutMs: number;
  readonly maxOutputTokens: number;
  readonly temperature: number;
  readonly clock: Clock;
  /** Before the second attempt; doubled before the third. @default 1000 */
  readonly backoffMs?: number;
}

export interface Model {
  /** For people. */
  readonly name: string;
  /** What the model says. @throws `model-failed` */
  ask(question: Question): Promise<string>;
}

export interface Question {
  /** What it shall do. */
  readonly system: string;
  /** What it shall do it with. */
  readonly user: string;
}

interface Attempt {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
}

/** @throws `model-not-configured` when the address or the key cannot be used */
export function createModel(options: ModelOptions): Model {
  const { name, key, timeoutMs, clock, backoffMs = BACKOFF_MS } = options;
  const { url, shown } = endpointOf(options.baseUrl);
  checkKey(key);
  const hidden = (text: string) => (key ? text.replaceAll(key, "…") : text);
  const failed = (what: string, cause?: unknown) =>
    new HoldfastError("model-failed", hidden(`the model ${name} at ${shown} ${what}`), { facts: { model: name, endpoint: shown }, cause });

  const send = async (question: Question, signal: AbortSignal): Promise<Attempt> => {
    const response = await fetch(url, {
      method: "POST",
      // Followed, it could carry the key to another host.
      redirect: "manual",
      signal,
      headers: { "content-type": "application/json", accept: "application/json", ...(key && { authorization: `Bearer ${key}` }) },
      body: JSON.stringify(bodyOf(question, options)),
    });
    const text = await readLimited(response);
    if (text === null) throw failed("answered with more than 1 MB");
    return { status: response.status, retryAfter: response.headers.get("retry-after"), text };
  };

  const askUntil = async (question: Question, { signal, end }: { signal: AbortSignal; end: number }): Promise<string> => {
    for (let attempt = 1; ; attempt++) {
      const { status, retryAfter, text } = await send(question, signal);
      if (status >= 200 && status < 300) {
        const content = contentOf(text);
        if (content === null) throw failed("answered with something that is no chat completion");
        return content;
      }
      const refused = failed(`answered with status ${status}${reasonOf(text)}`);
      if ((status !== 429 && status < 500) || attempt === ATTEMPTS) throw refused;
      const pause = retryDelay(retryAfter, { otherwise: backoffMs * 2 ** (attempt - 1), now: clock.now() });
      if (clock.monotonic() + pause >= end) throw refused;
      await delay(clock, pause);
    }
  };

  return {
    name,
    async ask(question) {
      const limit = new AbortController();
      const timer = clock.after(timeoutMs, () => limit.abort());
      try {
        return await askUntil(question, { signal: limit.signal, end: clock.monotonic() + timeoutMs });
      } catch (error) {
        if (HoldfastError.isInstance(error)) throw error;
        if (limit.signal.aborted) throw failed(`did not answer within ${timeoutMs / 1000} s`);
        throw failed(`cannot be reached: ${networkReason(error)}`);
      } finally {
        timer.cancel();
      }
    },
  };
}

function bodyOf({ system, user }: Question, { name, maxOutputTokens, temperature }: ModelOptions) {
  const messages = [
    { role: "system", content: system },
    { role: "user", content: user },
  ];
  return { model: name, messages, max_tokens: maxOutputTokens, temperature, stream: false };
}

/** fetch only says that it failed; why is in its cause. */
function networkReason(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return systemCode(cause) ?? (cause instanceof Error ? cause.message : String(cause));
}
