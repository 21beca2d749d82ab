/** @module What the verbs of the board have in common. */
import type { Command } from "commander";
import { HoldfastError } from "../../base/errors.ts";
import type { Terminal } from "../render.ts";
import { addSubverb, type HelpNotes, type VerbInvocation } from "../verb.ts";

export type Flags = VerbInvocation["flags"];

/** Of verbs that a worker uses in the name of its run. */
export const CLAIM_EXIT: HelpNotes["exit"] = [
  ["0", "done"],
  ["1", "Holdfast failed or the board refused; the message says why"],
  ["2", "the command line was not understood"],
  ["3", "the claim is lost: somebody else may have the task now, so stop working on it"],
];

/** Of verbs that go on until they are ended. */
export const FOLLOW_EXIT: HelpNotes["exit"] = [
  ["0", "done"],
  ["1", "Holdfast failed; the message says why"],
  ["2", "the command line was not understood"],
  ["130", "ended by Ctrl-C; 143 by TERM"],
];

const TASK_ID = /^t_[0-9a-f]{8,}$/;

/** `--board` may stand before the verb or behind it. */
export function kanbanVerb(kanban: Command, name: string, summary: string): Command {
  return addSubverb(kanban, name, summary).option("--board <slug>", "the board; else the one that counts");
}

export function text(flags: Flags, name: string): string | undefined {
  const value = flags[name];
  return value === undefined ? undefined : String(value);
}

export function texts(flags: Flags, name: string): string[] | undefined {
  return flags[name] as string[] | undefined;
}

export function number(flags: Flags, name: string): number | undefined {
  return flags[name] as number | undefined;
}

/** Those of the flags that were given, under their own names. */
export function givenTexts<Names extends string>(flags: Flags, names: readonly Names[]): { [Name in Names]?: string } {
  return given(Object.fromEntries(names.map((name) => [name, text(flags, name)]))) as { [Name in Names]?: string };
}

/** The board that the task must be on, if one is named. */
export function onBoard(flags: Flags): { board?: string } {
  return given({ board: text(flags, "board") });
}

/** Without what was not given. */
export function given<Fields extends object>(fields: Fields): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

/**
 * A worker may leave out the id of its own task, so one word alone may be either.
 * @throws `usage` when what else is needed is missing
 */
export function idAndWord(first: string | undefined, second: string | undefined, what: string): { id?: string; word: string } {
  if (second !== undefined) return { id: String(first), word: second };
  if (first !== undefined && !TASK_ID.test(first)) return { word: first };
  throw new HoldfastError("usage", `missing ${what}`, { hint: `give the id of the task and the ${what}; a worker may leave out its id` });
}

/** `-` stands for what is piped into the program. */
export async function textOrInput(terminal: Terminal, word: string): Promise<string> {
  return word === "-" ? inputText(terminal) : word;
}

export async function inputText(terminal: Terminal): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of terminal.input) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString();
}

/** @throws `usage` unless it is an object */
export function jsonObject(flag: string, word: string | undefined): Record<string, unknown> | undefined {
  if (word === undefined) return undefined;
  const value = parseJson(word);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new HoldfastError("usage", `${flag} must be a JSON object`, { hint: `for example ${flag} '{"files": 3}'` });
}

function parseJson(word: string): unknown {
  try {
    return JSON.parse(word);
  } catch {
    // A SyntaxError; what is wrong is told by the caller.
    return undefined;
  }
}
