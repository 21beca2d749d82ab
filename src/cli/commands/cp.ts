/** @module holdfast cp: files and trees between the host and sandboxes. */
import { type CopyEnd, copy, readFromSandbox, writeToSandbox } from "../../app/operations/file-copy.ts";
import type { CopyResult } from "../../app/results.ts";
import { HoldfastError } from "../../base/errors.ts";
import { DEFAULT_SESSION, DEFAULT_TASK } from "../../base/names.ts";
import { addJsonFlag } from "../flags.ts";
import { interruptible } from "../interruptible.ts";
import type { Terminal } from "../render.ts";
import { numberFor, readableSize } from "../values.ts";
import { addHelpNotes, type RegisterVerb, type VerbInvocation } from "../verb.ts";

const MEGABYTE = 1024 * 1024;

interface CopyFlags {
  task: string;
  session: string;
  maxMb?: number;
  maxEntries?: number;
  json?: boolean;
}

export const register: RegisterVerb = (command, { runner }) => {
  addJsonFlag(command)
    .argument("<source>", "PATH on the host, :PATH in the sandbox of task default, TASK:PATH in another, or - for what is piped in")
    .argument("<target>", "the same; - is standard output")
    .option("-t, --task <task>", "the task of :PATH, also one whose name cannot stand before a colon, such as a/b", DEFAULT_TASK)
    .option("-s, --session <name>", "relative paths in a sandbox begin in the directory of this session", DEFAULT_SESSION)
    .option("--max-mb <number>", "copy no more than this (default: 4096 for a tree, no limit for a file)", numberFor("--max-mb"))
    .option(
      "--max-entries <count>",
      "copy no tree with more files, directories and links (default: 100000)",
      numberFor("--max-entries", { whole: true, example: "1000" }),
    )
    .action((from: string, to: string) => runner.run(command, (invocation) => cp(from, to, invocation)));
  addHelpNotes(command, {
    examples: [
      ["holdfast cp data.csv :", "into the directory of the session"],
      ["holdfast cp build:dist ./out", "a tree from the sandbox of task build; becomes out, or out/dist if out is there"],
      ["holdfast cp :report.txt -", "to standard output"],
      ["git archive HEAD | holdfast cp - :/tmp/source.tar", "from a pipe"],
    ],
  });
};

async function cp(from: string, to: string, { app, terminal, flags }: VerbInvocation): Promise<number> {
  const { task, session, maxMb, maxEntries, json = false } = flags as unknown as CopyFlags;
  const [source, target] = [parseEnd(from, task), parseEnd(to, task)];
  const limits = { ...(maxMb === undefined ? {} : { maxBytes: Math.round(maxMb * MEGABYTE) }), maxEntries };
  return interruptible(terminal, async (signal) => {
    const options = { session, signal, ...limits };
    if (source !== "stream" && target !== "stream") tell(await copy(app, { from: source, to: target, ...options }), terminal, json);
    else if (source !== "stream") {
      if (json) throw new HoldfastError("usage", "standard output cannot hold both the file and the JSON", { hint: "leave out --json" });
      for await (const chunk of await readFromSandbox(app, inSandbox(source), options)) await terminal.bytes(chunk, "stdout");
    } else if (target !== "stream") {
      tell(await writeToSandbox(app, inSandbox(target), { content: terminal.input, ...options }), terminal, json);
    } else throw notInSandbox();
    return 0;
  });
}

/** A path that begins with `.` or `/`, or has a slash before its first colon, is the host's. */
export function parseEnd(text: string, ofColon = DEFAULT_TASK): CopyEnd | "stream" {
  if (text === "-") return "stream";
  if (text === "")
    throw new HoldfastError("usage", "a path is empty", { hint: "write . for the directory you are in, or : for the session's" });
  const [, task, path] = /^([^./][^/:]*|):(.*)$/s.exec(text) ?? [];
  if (task === undefined || path === undefined) return { task: null, path: text };
  return { task: task === "" ? ofColon : task, path: path === "" ? "." : path };
}

function inSandbox(end: CopyEnd): CopyEnd & { task: string } {
  if (end.task === null) throw notInSandbox();
  return { ...end, task: end.task };
}

function notInSandbox(): HoldfastError {
  return new HoldfastError("usage", "neither end of the copy is in a sandbox", { hint: "write :PATH or TASK:PATH for the one that is" });
}

function tell(result: CopyResult, terminal: Terminal, json: boolean): void {
  for (const { path, reason } of result.skipped) terminal.warn(`skipped ${path}: ${reason}`);
  const count = result.entries === 1 ? "1 entry" : `${result.entries} entries`;
  if (json) terminal.json(result);
  else terminal.note(`copied ${count}, ${readableSize(result.bytes)}, to ${result.to}`);
}
