/** @module The callback of the completion scripts: writes what could stand where the cursor is, and never complains. */
import { type AppOptions, createApp } from "../../app/create-app.ts";
import type { Terminal } from "../render.ts";
import { type CompleteOptions, type Completion, complete } from "./complete.ts";

export interface AnswerOptions extends Pick<CompleteOptions, "program" | "load">, Pick<AppOptions, "environment" | "cwd"> {
  readonly terminal: Terminal;
}

/**
 * The first line says what kind of answer it is: `words`, `directories`, `files` or `command COUNT`. With `words`, each line after it is a word, a tab
 * and what it means.
 */
export async function answerCompletion(
  words: readonly string[],
  { program, load, environment, cwd, terminal }: AnswerOptions,
): Promise<void> {
  const app = (profile: string | undefined) => createApp({ environment, cwd, profile });
  for (const line of render(await complete(words, { program, load, app }).catch(() => NOTHING))) terminal.line(line);
}

// Whatever is wrong, a message in the midst of typing would not help; the command itself will tell.
const NOTHING: Completion = { kind: "words", candidates: [] };

function render(completion: Completion): string[] {
  if (completion.kind === "command") return [`command ${completion.skip}`];
  if (completion.kind !== "words") return [completion.kind];
  const lines = completion.candidates.map(({ value, description }) => `${value}\t${description.replaceAll(/\p{Cc}/gu, " ")}`);
  return ["words", ...lines];
}
