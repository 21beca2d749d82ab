/** @module Removing a scratch workspace, and saying what was lost with it. */
import type { Logger } from "../../base/log.ts";
import { safeName } from "../../board/attachments.ts";
import type { Attachment } from "../../board/notes.ts";
import type { Store } from "../../board/store.ts";
import { type Managed, type RemoveManagedOptions, removeManaged } from "./managed.ts";

const WORTH_SAYING_BYTES = 1024;

export interface RemoveScratchOptions extends Pick<RemoveManagedOptions, "removeForeign"> {
  readonly store: Pick<Store, "attachments">;
  readonly log: Logger;
}

/** False when there is none. @throws `workspace-failed` */
export async function removeScratch(managed: Managed, { store, log, removeForeign }: RemoveScratchOptions): Promise<boolean> {
  const { task } = managed;
  const isKept = keptCopies(await store.attachments(task));
  let files = 0;
  let bytes = 0;
  const onFile = (name: Buffer, size: number) => {
    if (isKept(name, size)) return;
    files++;
    bytes += size;
  };
  try {
    return await removeManaged(managed, { onFile, removeForeign });
  } finally {
    if (bytes > WORTH_SAYING_BYTES) {
      log.warn(`${files} files of ${bytes} bytes went with the workspace of ${task} that were not declared as artifacts`, {
        task,
        files,
        bytes,
      });
    }
  }
}

/** Files of which a copy is kept, by name and size: what is in them was looked at when they were copied. */
function keptCopies(attachments: readonly Attachment[]): (name: Buffer, size: number) => boolean {
  const key = (name: string, size: number) => `${size} ${name}`;
  const known = new Set(attachments.map(({ name, size }) => key(name, size)));
  return (name, size) => known.has(key(safeName(name.toString()), size));
}
