/** @module What is longer than the screen is shown by the user's pager, as git does it. */
import type { App } from "../app/create-app.ts";
import { ignoreCtrlC } from "./interrupt.ts";
import type { Terminal } from "./render.ts";

/** Ends by itself when all fits, shows colours, and leaves the text on the screen. */
const LESS_FLAGS = "FRX";
/** Nobody has named less, so nobody needs to hear that it is not there. */
const USUAL_PAGER = "command -v less >/dev/null && exec less; exit 127";
const NOT_FOUND = 127;

export async function page({ environment }: Pick<App, "environment">, terminal: Terminal, lines: readonly string[]): Promise<void> {
  const pager = environment.PAGER ?? USUAL_PAGER;
  const fits = terminal.size === null || lines.length < terminal.size.rows;
  if (!fits && terminal.interactive && pager !== "" && pager !== "cat") {
    const status = await show(lines, pager, { LESS: LESS_FLAGS, ...environment });
    if (status !== NOT_FOUND) return;
  }
  for (const line of lines) terminal.line(line);
}

/** Its status; a pager that a signal has ended has shown what somebody wanted to see. */
async function show(lines: readonly string[], pager: string, env: Readonly<Record<string, string | undefined>>): Promise<number> {
  // Not needed by any verb whose output fits.
  const { spawnChild } = await import("../base/child.ts");
  using _ = ignoreCtrlC();
  const child = spawnChild("sh", ["-c", pager], { stdio: ["pipe", "inherit", "inherit"], env });
  child.stdin.end(`${lines.join("\n")}\n`);
  return await new Promise((resolve) => {
    child.once("error", () => resolve(NOT_FOUND));
    child.once("exit", (code) => resolve(code ?? 0));
  });
}
