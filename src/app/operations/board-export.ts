/** @module Writes a board into an archive. */
import { constants } from "node:fs";
import { copyFile, lstat, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import * as z from "zod/mini";
import { describeError, HoldfastError } from "../../base/errors.ts";
import { listDirectory } from "../../base/list-directory.ts";
import { holdsPassword, withoutPassword, withoutPasswords } from "../../base/without-password.ts";
import type { BoardFiles } from "../../board/files.ts";
import { createStaging, packStaging, type Staging } from "../board-archive.ts";
import { fromCaller } from "../caller-directory.ts";
import { writeHostFile } from "../host-file.ts";
import { defineOperation } from "../operation.ts";

export const boardExport = defineOperation({
  name: "board.export",
  summary: "Write a board with its tasks, comments, runs, events and attachments into an archive",
  input: z.strictObject({
    slug: z.optional(z.string()),
    /** SLUG.kanban.tar.gz without it. */
    file: z.optional(z.string()),
    attachments: z._default(z.boolean(), true),
    logs: z._default(z.boolean(), false),
    /** Replaces a file that is there. */
    force: z._default(z.boolean(), false),
  }),
  output: z.object({
    board: z.string(),
    file: z.string(),
    tasks: z.int(),
    attachments: z.int(),
    logs: z.int(),
    /** Attachments whose files are not in it, and why. */
    leftOut: z.array(z.object({ name: z.string(), why: z.string() })),
    /** Texts of tasks, comments, runs and events in which a password of a database was replaced by ***. */
    hidden: z.int(),
  }),
  async run(app, { slug: wanted, file, attachments, logs, force }) {
    const kanban = await app.kanban();
    kanban.person("exporting a board");
    const { slug } = await kanban.existingBoard(wanted);
    const path = fromCaller(app, file ?? `${slug}.kanban.tar.gz`);
    if (!force) await refuseExisting(path);
    let hidden = 0;
    const board = withoutPasswords(await kanban.store.exportBoard(slug), (text) => {
      if (!holdsPassword(text)) return text;
      hidden += 1;
      return withoutPassword(text);
    });
    await using staging = await createStaging(kanban.files);
    const leftOut: { name: string; why: string }[] = [];
    for (const each of attachments ? board.attachments : []) {
      const why = await takeAttachment(each.path, { to: staging.attachment(each.id), files: kanban.files, slug });
      if (why !== null) leftOut.push({ name: each.name, why });
    }
    const taken = logs ? await takeLogs(kanban.files.logs(slug), staging) : 0;
    await writeHostFile(path, await packStaging(staging, board), { mode: 0o600 });
    const count = attachments ? board.attachments.length - leftOut.length : 0;
    return { board: slug, file: path, tasks: board.tasks.length, attachments: count, logs: taken, leftOut, hidden };
  },
});

/** Why it does not come along. Only what lies among the files of the board: a row could name anything. */
async function takeAttachment(path: string, { to, files, slug }: { to: string; files: BoardFiles; slug: string }): Promise<string | null> {
  try {
    const root = await realpath(files.board(slug));
    if (!(await realpath(path)).startsWith(root + sep)) return "it is not among the files of the board";
    if (!(await lstat(path)).isFile()) return "it is no regular file";
    await copyFile(path, to, constants.COPYFILE_EXCL);
    return null;
  } catch (error) {
    return describeError(error);
  }
}

async function takeLogs(directory: string, staging: Staging): Promise<number> {
  let taken = 0;
  for (const name of listDirectory(directory)) {
    if (!/^t_[0-9a-f]{8}\.log(\.\d{1,3})?$/.test(name) || !(await lstat(join(directory, name))).isFile()) continue;
    await copyFile(join(directory, name), staging.log(name));
    taken++;
  }
  return taken;
}

async function refuseExisting(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found === null || (!found.isFile() && !found.isDirectory() && !found.isSymbolicLink())) return;
  throw new HoldfastError("file-exists", `${path} is already there`, {
    hint: "name another file with -o, or replace it with --force",
    facts: { path },
  });
}
