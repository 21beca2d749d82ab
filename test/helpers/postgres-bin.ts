/** @module Where the programs of PostgreSQL are: Debian keeps those of the server out of the PATH. */
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";

/** The directory of `postgres` and `initdb`, of the newest version. */
export function postgresBin(): string | undefined {
  const directories = [...(process.env.PATH ?? "").split(":"), ...globSync("/usr/lib/postgresql/*/bin").sort(newestFirst)];
  return directories.find((directory) => ["postgres", "initdb"].every((name) => existsSync(join(directory, name))));
}

function newestFirst(a: string, b: string): number {
  return Number(b.split("/")[4]) - Number(a.split("/")[4]);
}
