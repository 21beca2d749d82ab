/** @module The command line in the process it was started in. */
import { callerDirectory } from "../app/caller-directory.ts";
import { processEnvironment } from "../config/environment.ts";
import { keepIgnored } from "./interrupt.ts";
import { processTerminal } from "./render.ts";
import { runCli } from "./run-cli.ts";

export async function runProgram(args: readonly string[]): Promise<number> {
  const words = keepIgnored(args);
  const environment = processEnvironment();
  const terminal = processTerminal(environment.NO_COLOR);
  return runCli(words, { environment, cwd: callerDirectory(), terminal });
}
