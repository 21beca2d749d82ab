/** @module A lock between processes, which ends with its holder however that ends. */
import { spawn } from "node:child_process";
import { once } from "node:events";

/** `file` is made if it is missing; its directory must be there. */
export async function withFileLock<T>(file: string, action: () => Promise<T>): Promise<T> {
  const holder = spawn("flock", [file, "sh", "-c", "echo held; cat"], { stdio: ["pipe", "pipe", "inherit"] });
  const closed = once(holder, "close");
  const [first] = await Promise.race([once(holder.stdout, "data"), closed]);
  if (!Buffer.isBuffer(first)) throw new Error(`${file} cannot be locked: flock ended with ${first}`);
  try {
    return await action();
  } finally {
    holder.stdin.end();
    await closed;
  }
}
