/** @module Running the `console` blocks of a page and comparing what comes out with what the page says. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import type { Page } from "./markdown.ts";

export interface Step {
  readonly command: string;
  readonly expected: string;
}

const STEP_END = "\u0001";

/** The commands of all blocks in order, each with the lines that follow it. */
export function stepsOf({ fences }: Page): Step[] {
  const blocks = fences.filter(({ language }) => language === "console").map((fence) => fence.text);
  return blocks
    .flatMap((block) => block.split(/^\$ /m).slice(1))
    .map((part) => {
      const [command = "", ...lines] = part.split("\n");
      return { command, expected: lines.join("\n").trimEnd() };
    });
}

/** So long all steps may take together; then what still runs is ended, also in the background. */
const LIMIT_MS = 220_000;

/** Runs the commands one after the other in one shell, standard error included, and gives what each of them printed. */
export async function runSteps(steps: readonly Step[], options: { cwd: string; env: NodeJS.ProcessEnv }): Promise<string[]> {
  const script = steps.map(({ command }) => `${command}\nprintf '${STEP_END}'\n`).join("");
  const shell = spawn("bash", ["--noprofile", "--norc", "-c", `exec 2>&1\n${script}`], {
    ...options,
    stdio: ["ignore", "pipe", "inherit"],
    // A group of its own, which can be ended as a whole.
    detached: true,
  });
  const timer = setTimeout(() => process.kill(-(shell.pid ?? 0), "SIGKILL"), LIMIT_MS);
  try {
    const output = await text(shell.stdout);
    return output.split(STEP_END).slice(0, -1);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether the output is what was expected: `…` stands for anything within a line, or, alone on a line, for any lines. */
export function matches(output: string, expected: string): boolean {
  const lines = normal(expected).split("\n");
  const patterns = lines.map((line) => (line === "…" ? "(?:.*\n)*?" : `${line.split("…").map(escaped).join(".*")}\n`));
  return new RegExp(`^${patterns.join("")}$`).test(`${normal(output)}\n`);
}

/** The width of a table's columns depends on what is in them, so blanks between columns count as two. */
function normal(output: string): string {
  return output.trimEnd().replace(/(?<=\S) {2,}/g, "  ");
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
