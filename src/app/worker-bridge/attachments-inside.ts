/** @module Attachments lie on the host; what a verb says about them names copies in the sandbox instead, which are made when they are first named. */
import { open } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { listDirectory } from "../../base/list-directory.ts";
import type { BoardFiles } from "../../board/files.ts";
import { LARGEST_ATTACHMENT } from "../../board/schema.ts";
import type { Files } from "../../sandbox/files.ts";

export interface AttachmentsInside {
  /** Whether the text names attachments of any other task of the board. */
  namesOthers(text: string, tasks: readonly string[]): boolean;
  /** The text with the paths in the sandbox. */
  translate(text: string, tasks: readonly string[]): Promise<string>;
}

export interface AttachmentsInsideOptions {
  readonly board: string;
  readonly boardFiles: BoardFiles;
  /** In the sandbox. */
  readonly files: Files;
  /** Where copies go, in the sandbox. */
  readonly directory: string;
}

const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
/** How a path stands in a text, in JSON, and in the JSON that a tool answers with: a name may have a quotation mark. */
const SPELLINGS: readonly ((path: string) => string)[] = [(path) => path, inJson, (path) => inJson(inJson(path))];

export function attachmentsInside({ board, boardFiles, files, directory }: AttachmentsInsideOptions): AttachmentsInside {
  const copied = new Set<string>();
  const copyOnce = async (source: string, target: string): Promise<void> => {
    if (copied.has(target)) return;
    await using handle = await open(source);
    const { size } = await handle.stat();
    if (size > LARGEST_ATTACHMENT) return;
    await files.write(target, await handle.readFile(), { mode: 0o600 });
    copied.add(target);
  };
  const root = `${dirname(boardFiles.attachments(board, "any"))}/`;
  return {
    namesOthers(text, tasks) {
      const places = SPELLINGS.flatMap((spelt) => text.split(spelt(root)).slice(1));
      return places.some((place) => !tasks.some((task) => place.startsWith(`${task}/`)));
    },
    async translate(text, tasks) {
      let translated = text;
      for (const task of tasks) {
        const outside = boardFiles.attachments(board, task);
        if (!SPELLINGS.some((spelt) => translated.includes(spelt(outside)))) continue;
        // Longer names first: one may be the beginning of another.
        const names = (await listDirectory(outside)).sort((a, b) => b.length - a.length);
        for (const name of names) {
          const source = join(outside, name);
          const spellings = SPELLINGS.filter((spelt) => translated.includes(spelt(source)));
          if (spellings.length === 0) continue;
          const target = posix.join(directory, task, name);
          await copyOnce(source, target);
          for (const spelt of spellings) translated = translated.replaceAll(spelt(source), () => spelt(target));
        }
      }
      return translated;
    },
  };
}
