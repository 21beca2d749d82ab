/** @module A profile that is being deleted: nobody begins anything new in its name, in whichever process. */
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

const MARK = ".deleting";

export function isBeingDeleted(home: string): boolean {
  return existsSync(join(home, MARK));
}

/** The mark goes with the home; if that stays after all, so does the profile. */
export async function whileDeleting<T>(home: string, action: () => Promise<T>): Promise<T> {
  const mark = join(home, MARK);
  await writeFile(mark, "");
  try {
    return await action();
  } catch (error) {
    await rm(mark, { force: true });
    throw error;
  }
}
