/** @module Reading what an endpoint answered, which may be anything and of any length. */
const LARGEST_ANSWER = 1024 * 1024;
const LONGEST_REASON = 200;

/** Null when it is too much; the rest is not waited for. */
export async function readLimited(response: Response): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    // Leaving the loop closes the connection.
    if (size > LARGEST_ANSWER) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The text of the first choice, or null. */
export function contentOf(text: string): string | null {
  const answer = parse(text) as { choices?: { message?: { content?: unknown } }[] } | null;
  const content = Array.isArray(answer?.choices) ? answer.choices[0]?.message?.content : undefined;
  return typeof content === "string" && content.trim() !== "" ? content : null;
}

/** Why the endpoint refused, if it says so: `: rate limit reached`. */
export function reasonOf(text: string): string {
  const { error } = (parse(text) ?? {}) as { error?: unknown };
  const message = typeof error === "string" ? error : (error as { message?: unknown } | null | undefined)?.message;
  return typeof message === "string" && message !== "" ? `: ${message.slice(0, LONGEST_REASON)}` : "";
}

function parse(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    // SyntaxError: a page of a proxy, or half an answer.
    return null;
  }
}
