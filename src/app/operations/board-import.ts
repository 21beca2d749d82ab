/** @module Makes a board from an archive that anybody may have made. */
import { chmod, lstat, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as z from "zod/mini";
import { HoldfastError, systemCode } from "../../base/errors.ts";
import { listDirectory } from "../../base/list-directory.ts";
import { makeDirectory } from "../../base/make-directory.ts";
import type { Attachment } from "../../board/notes.ts";
import { parseSlug } from "../../board/slug.ts";
import { createStaging, type Staging, unpackStaging } from "../board-archive.ts";
import { removeBoardFiles } from "../board-leftovers.ts";
import { fromCaller } from "../caller-directory.ts";
import { hostFailed } from "../host-file.ts";
import type { Kanban } from "../kanban.ts";
import { defineOperation } from "../operation.ts";
import { switchBoard } from "../switched-board.ts";

export const boardImport = defineOperation({
  name: "board.import",
  summary: "Make a new board from an archive of `board.export`",
  input: z.strictObject({ file: z.string(), as: z.optional(z.string()), switch: z._default(z.boolean(), false) }),
  output: z.object({
    board: z.string(),
    tasks: z.int(),
    attachments: z.int(),
    /** Attachments whose files did not come along. */
    leftOut: z.readonly(z.array(z.string())),
    /** Tasks that a dispatcher may start at once. */
    ready: z.int(),
    /** Directories of this machine that tasks name as their workspace. */
    directories: z.array(z.string()),
  }),
  async run(app, { file: named, as, switch: switchTo }) {
    const kanban = await app.kanban();
    const { store, files } = kanban;
    const by = kanban.person("importing a board");
    if (as !== undefined) parseSlug(as);
    const file = fromCaller(app, named);
    await using staging = await createStaging(files);
    const data = await unpackStaging(staging, file).catch((error: unknown) => Promise.reject(hostFailed(file, error)));
    const slug = parseSlug(as ?? data.board.slug);
    const staged = await stagedSizes(staging);
    const places = new Map<number, string>();
    // Asked again if the database begins anew.
    const attachmentPath = ({ id, task, name, size }: Attachment) => {
      if (staged.get(String(id)) !== size) return null;
      const path = join(files.attachments(slug, task), `${id}-${plainName(name)}`);
      places.set(id, path);
      return path;
    };
    const { board, ids, leftOut } = await store.importBoard(data, { by, as: slug, attachmentPath }).catch((error: unknown) => {
      if (!HoldfastError.isInstance(error) || error.code !== "board-exists") throw error;
      throw new HoldfastError(error.code, error.message, { hint: "give it another name with --as SLUG", facts: error.facts, cause: error });
    });
    try {
      for (const [id, path] of places) await putInPlace(staging.attachment(id), path);
      await takeLogs(kanban, { slug, ids, staging });
    } catch (error) {
      await store.removeBoard(slug, { by });
      await removeBoardFiles(files, slug, { of: new Set(Object.values(ids)) });
      throw hostFailed(files.board(slug), error);
    }
    if (switchTo) await switchBoard(kanban, board);
    const { ready, review } = await store.counts(slug);
    const directories = data.tasks.flatMap(({ workspace }) => /^(?:dir|worktree):(.*)$/.exec(workspace)?.[1] ?? []);
    return {
      ...{ board: slug, tasks: data.tasks.length, attachments: places.size, leftOut },
      ...{ ready: ready + review, directories: [...new Set(directories)] },
    };
  },
});

async function stagedSizes(staging: Staging): Promise<Map<string, number>> {
  const directory = dirname(staging.attachment(0));
  const sizes = listDirectory(directory).map(async (name) => [name, (await lstat(join(directory, name))).size] as const);
  return new Map(await Promise.all(sizes));
}

async function takeLogs(
  { files }: Kanban,
  { slug, ids, staging }: { slug: string; ids: Readonly<Record<string, string>>; staging: Staging },
): Promise<void> {
  for (const name of listDirectory(dirname(staging.log("x")))) {
    const [task = "", ...ending] = name.split(".");
    const id = Object.hasOwn(ids, task) ? ids[task] : undefined;
    if (id === undefined) {
      throw new HoldfastError("archive-refused", `the archive has a log of ${task}, which is not on the board`, {
        hint: "only import what `holdfast kanban boards export` made",
        facts: { task },
      });
    }
    await putInPlace(staging.log(name), join(files.logs(slug), [id, ...ending].join(".")));
  }
}

async function putInPlace(from: string, to: string): Promise<void> {
  await makeDirectory(dirname(to));
  await chmod(from, 0o600);
  await rename(from, to).catch((error: unknown) => {
    if (systemCode(error) === "ENOENT")
      throw new HoldfastError("internal", `${from} went away while it was being imported`, { cause: error });
    throw error;
  });
}

/** The number before it makes it unlike any other. */
function plainName(name: string): string {
  return basename(name)
    .replace(/[^A-Za-z0-9._-]+/g, "_")
    .slice(-80);
}
