/** @module The profile's `.env`: what is in it, and whether only its owner may read it (K1). */
import { statSync } from "node:fs";
import { parseDotenv } from "./dotenv.ts";
import { configFiles } from "./load.ts";
import { readConfigFile } from "./read-file.ts";

/** Null when it is private or not there. */
export function envFileWarning(home: string): string | null {
  const { env } = configFiles(home);
  const permissions = permissionsOf(env);
  if ((permissions & 0o077) === 0) return null;
  const mode = permissions.toString(8).padStart(3, "0");
  return `other users of this machine may read or change ${env} (mode ${mode}), where secrets are; \`chmod 600\` makes it private`;
}

/** None when it is not there. */
function permissionsOf(path: string): number {
  try {
    return (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
  } catch {
    // EACCES, ELOOP: whoever reads it says so.
    return 0;
  }
}

/** By name; lines that cannot be read are left out. @throws `config-unreadable` */
export function readEnvFile(home: string): Record<string, string> {
  const { entries } = parseDotenv(readConfigFile(configFiles(home).env) ?? "");
  return Object.fromEntries(entries.map(({ name, value }) => [name, value]));
}
