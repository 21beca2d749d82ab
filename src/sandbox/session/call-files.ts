/** @module What a call or a process has in files of its sandbox: its command, when that is too long for an argument, and its report. */
import type { Connection, FileAccess } from "../driver.ts";
import { type CommandScript, LONGEST_COMMAND_ARGUMENT } from "./script.ts";
import type { Sessions } from "./sessions.ts";

export interface CommandRequest {
  readonly text: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
  readonly session: string;
}

export interface CallFiles {
  readonly script: CommandScript;
  /** Where the shell reports, if there is no daemon. */
  readonly resultFile: string;
  /** What must be there before the shell is. */
  write(): Promise<void>;
  /** What cannot be removed now, because the sandbox is gone or its disk broken, goes when a session is made. */
  remove(): Promise<void>;
}

export function createCallFiles(
  { connection, files, sessions }: { readonly connection: Connection; readonly files: FileAccess; readonly sessions: Sessions },
  { text, env, cwd, session }: CommandRequest,
): CallFiles {
  const { resultFile, commandFile } = sessions.callFiles();
  const inFile = Buffer.byteLength(text) > LONGEST_COMMAND_ARGUMENT;
  const used = [...(inFile ? [commandFile] : []), ...(connection.daemon ? [] : [resultFile])];
  return {
    script: { stateFile: sessions.stateFile(session), commandFile, command: inFile ? null : text, cwd, oneCallNames: Object.keys(env) },
    resultFile,
    async write() {
      if (inFile) await files.write(commandFile, Buffer.from(text));
    },
    async remove() {
      await Promise.allSettled(used.map((path) => files.remove(path)));
    },
  };
}
