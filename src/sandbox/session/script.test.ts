import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../test/helpers/temporary-directory.ts";
import { parseReport } from "./report.ts";
import { callArgv } from "./script.ts";

test("a session that is removed before the shell has read it is gone, not damaged", async () => {
  await using scratch = await temporaryDirectory();
  const [stateFile, resultFile, commandFile] = ["state", "result", "command"].map((name) => join(scratch.path, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(stateFile, "__holdfast_saved_cwd=/\n__holdfast_whole=1\n");
  await promisify(execFile)("mkfifo", [commandFile]);
  const [program = "", ...args] = callArgv({ stateFile, resultFile, commandFile, command: null, cwd: null, oneCallNames: [] });
  const shell = spawn(program, args, { stdio: "ignore" });
  const ended = once(shell, "exit");
  // Opens when the shell has come as far as reading its command, which is after it looked for the session.
  const command = await open(commandFile, "w");
  await rm(stateFile);
  await command.writeFile("exit 3");
  await command.close();
  expect((await ended)[0]).toBe(125);
  expect(parseReport(await readFile(resultFile))).toEqual({ kind: "no-session" });
});
