/** @module What is mounted in a directory: removing the directory would empty the other file system as well. */
import { readFile } from "node:fs/promises";
import { isInside } from "../../base/open-inside.ts";

/** `path` without links. Elsewhere than on Linux nothing is known. */
export async function mountsIn(path: string): Promise<string[]> {
  if (process.platform !== "linux") return [];
  return parseMounts(await readFile("/proc/self/mountinfo", "latin1"), Buffer.from(path).toString("latin1"));
}

/** Both in latin1, since paths are bytes. The kernel writes blanks and the like as octal numbers. */
export function parseMounts(mountinfo: string, path: string): string[] {
  return mountinfo
    .split("\n")
    .map((line) =>
      (line.split(" ")[4] ?? "").replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
    )
    .filter((point) => point === path || (point !== "" && isInside(point, path)))
    .map((point) => Buffer.from(point, "latin1").toString());
}
