/** @module Command lines of Holdfast in documents: finding them, and asking the program itself whether it understands them. */
import { type Command, CommanderError } from "commander";
import { fullName, programForReading } from "../../scripts/gen-cli-docs.ts";
import type { Page } from "./markdown.ts";

/** The command lines of a page that the program would refuse, with the reason. */
export async function refusedCommands(page: Page): Promise<string[]> {
  const fenced = fencedCommands(page).flatMap((line) => callsIn(line).map(async (words) => ({ line, reason: await refusal(words) })));
  const mentioned = mentionedCommands(page).flatMap((line) =>
    callsIn(line).map(async (words) => ({ line, reason: await unknownWord(words) })),
  );
  const judged = await Promise.all([...fenced, ...mentioned]);
  return judged.filter(({ reason }) => reason !== null).map(({ line, reason }) => `${page.path}: ${line}: ${reason}`);
}

/** Lines of code blocks that call the program; they must be complete. */
export function fencedCommands({ fences }: Page): string[] {
  const lines = fences.filter(({ language }) => ["sh", "console"].includes(language)).flatMap(({ text }) => text.split("\n"));
  return lines.filter((line) => /^(\$ )?([A-Z_]+=\S* )?(\.\/)?holdfast /.test(line) || /\| (\.\/)?holdfast /.test(line));
}

/** Mentions within text: `holdfast config set`, perhaps without arguments. */
function mentionedCommands({ spans }: Page): string[] {
  return spans.filter((span) => /^([A-Z_]+=\S* )?(\.\/)?holdfast [a-z-]/.test(span));
}

/** The words after `holdfast`, for every call of it in the line. */
export function callsIn(line: string): string[][] {
  const calls: string[][] = [];
  let current: string[] | undefined;
  for (const word of shellWords(line.replace(/^\$ /, ""))) {
    if (["|", "||", "&&", ";", "&"].includes(word)) current = undefined;
    else if (current) current.push(word);
    else if (/^(\.\/)?holdfast$/.test(word)) {
      current = [];
      calls.push(current);
    }
  }
  return calls;
}

/** Why the program would refuse the call, or null. */
export async function refusal(words: readonly string[]): Promise<string | null> {
  const program = await programForReading();
  for (const command of everyCommand(program)) command.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {} });
  try {
    await program.parseAsync([...words], { from: "user" });
    return null;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return null;
    return error instanceof Error ? error.message : String(error);
  }
}

/** What is wrong with a mention: a word that is neither a verb nor a flag where it stands, or null. Words in capitals stand for something else. */
export async function unknownWord(words: readonly string[]): Promise<string | null> {
  let command = await programForReading();
  for (const word of words) {
    if (word === "--") return null;
    if (word.startsWith("-")) {
      if (!flagsOf(command).includes(word.split("=")[0] ?? "")) return `there is no ${fullName(command)} ${word}`;
      continue;
    }
    if (/^[A-Z]/.test(word) || command.commands.length === 0) continue;
    const child = command.commands.find((candidate) => candidate.name() === word || candidate.aliases().includes(word));
    if (child === undefined) return `there is no ${fullName(command)} ${word}`;
    command = child;
  }
  return null;
}

function flagsOf(command: Command): string[] {
  const own = command.options.flatMap(({ short, long }) => [short, long]).filter((flag) => flag !== undefined);
  return [...own, "-h", "--help", ...(command.parent ? flagsOf(command.parent) : [])];
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

/** Words as a shell would see them, as far as documents need it: quotes, and operators as words of their own. */
function shellWords(line: string): string[] {
  const pattern = /\|\||&&|[|;&]|(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s|;&'"\\])+/g;
  return [...line.matchAll(pattern)].map(([word]) => word.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/g, "$1$2$3"));
}
