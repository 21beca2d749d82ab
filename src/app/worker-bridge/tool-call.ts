/**
 * @module One message of MCP from a sandbox. All but the calls of tools is passed on as it is; in those, files and places are named by paths
 * in the sandbox, which mean nothing, or something else, on the host.
 */
import { describeError, HoldfastError } from "../../base/errors.ts";
import { told } from "./told.ts";
import type { GivenWord } from "./verbs.ts";

type JsonObject = Readonly<Record<string, unknown>>;

export interface ToolMessage {
  /** The verb of the board that the tool is; null when no tool is called. */
  readonly verb: string | null;
  /** The values of its arguments that must be translated, as words. */
  readonly words: readonly GivenWord[];
  /** The message as a line, with these values in their place. */
  line(values: readonly string[]): string;
  /** What to answer when the tool could not be called at all: empty when nobody waits for it. */
  failed(error: unknown): string;
}

/** By tool and argument; a test compares it with the tools. */
export const PLACES: Readonly<Record<string, Readonly<Record<string, "file" | "workspace">>>> = {
  kanban_complete: { artifacts: "file" },
  kanban_attach: { path: "file" },
  kanban_create: { workspace: "workspace" },
};

/** Of JSON-RPC. */
const INTERNAL_ERROR = -32603;
/** The answer repeats it, and an answer that is too long to be taken would hide that a last word was heard. */
const LONGEST_ID = 1000;

/** @throws `invalid-input` for what is no message */
export function readToolMessage(input: Uint8Array): ToolMessage {
  const message = parse(input);
  const { id, method, params } = message;
  checkId(id);
  const tool = method === "tools/call" && isObject(params) && typeof params.name === "string" ? params.name : null;
  const given = tool !== null && isObject(params) && isObject(params.arguments) ? params.arguments : {};
  const places = Object.entries(tool !== null && Object.hasOwn(PLACES, tool) ? (PLACES[tool] ?? {}) : {});
  const words: GivenWord[] = places.flatMap(([option, kind]) => textsOf(given[option]).map((value) => ({ option, kind, value })));
  // Last, and not for translation: its attachments may be named by the answer.
  if (typeof given.id === "string") words.push({ option: null, kind: "text", value: given.id });
  return {
    verb: tool?.startsWith("kanban_") ? tool.slice("kanban_".length).replaceAll("_", "-") : null,
    words,
    line(values) {
      const left = values.values();
      const translated = places.map(([option]) => [option, withTexts(given[option], () => left.next().value)] as const);
      const filled = { ...message, params: { ...(params as JsonObject), arguments: { ...given, ...Object.fromEntries(translated) } } };
      return `${JSON.stringify(words.length > 0 ? filled : message)}\n`;
    },
    failed(error) {
      if (id === undefined) return "";
      const text = told(error).trimEnd();
      const answer =
        tool === null
          ? { error: { code: INTERNAL_ERROR, message: text } }
          : { result: { isError: true, content: [{ type: "text", text }] } };
      return `${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`;
    },
  };
}

/** Whether the tool did what it was asked. */
export function succeeded(answer: string): boolean {
  const messages = answer.split("\n").filter((line) => line !== "");
  return messages.some((line) => {
    const { result } = JSON.parse(line) as { result?: { isError?: boolean } };
    return result !== undefined && result.isError !== true;
  });
}

function parse(input: Uint8Array): JsonObject {
  let message: unknown;
  try {
    message = JSON.parse(Buffer.from(input).toString());
  } catch (error) {
    throw new HoldfastError("invalid-input", `the message is not JSON: ${describeError(error)}`, {
      hint: "write one message a line",
      cause: error,
    });
  }
  if (isObject(message)) return message;
  throw new HoldfastError("invalid-input", "the message is not an object", { hint: "write one message a line" });
}

/** Only what the server would answer under. */
function checkId(id: unknown): void {
  if (id === undefined || Number.isSafeInteger(id) || (typeof id === "string" && id.length <= LONGEST_ID)) return;
  throw new HoldfastError(
    "invalid-input",
    `the message is not carried out: its id is no whole number and no text of at most ${LONGEST_ID} characters`,
    {
      hint: "count requests, and use the count as the id",
      facts: { field: "id" },
    },
  );
}

/** A text, or a list of them; anything else is for the tool to refuse. */
function textsOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).filter((each) => typeof each === "string");
}

/** The same with other texts. */
function withTexts(value: unknown, next: () => unknown): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => (typeof each === "string" ? next() : each));
  return typeof value === "string" ? next() : value;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
