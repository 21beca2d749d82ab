/** @module Writes a profile into an archive that holds no secrets. */
import { unlink, writeFile } from "node:fs/promises";
import { Readable } from "node:stream";
import * as z from "zod/mini";
import { HoldfastError, systemCode } from "../../base/errors.ts";
import { packProfile } from "../../profiles/archive.ts";
import { type LeftOut, type PortableFile, SECRET_NAMES_FILE } from "../../profiles/portable.ts";
import { fromCaller } from "../caller-directory.ts";
import type { App } from "../create-app.ts";
import { hostFailed, writeHostFile } from "../host-file.ts";
import { defineOperation } from "../operation.ts";
import { portableProfile, secretNames } from "../portable-profile.ts";
import { LeftOutShape } from "../schemas.ts";

export const profileExport = defineOperation({
  name: "profile.export",
  summary: "Write settings, description and skills of a profile into an archive, without any secrets",
  input: z.strictObject({
    name: z.string(),
    file: z.string(),
    /** Replaces a file that is there. */
    force: z._default(z.boolean(), false),
  }),
  output: z.object({
    name: z.string(),
    file: z.string(),
    files: z.array(z.string()),
    /** What is not in it, and why. */
    leftOut: z.readonly(z.array(LeftOutShape)),
    bytes: z.int(),
  }),
  async run(app, { name, file, force }) {
    const { archive, ...about } = await exportArchive(app, name);
    const path = fromCaller(app, file);
    await (force ? writeHostFile(path, Readable.from([archive]), { mode: 0o600 }) : writeNewFile(path, archive));
    return { ...about, file: path, bytes: archive.length };
  },
});

export interface ExportedProfile {
  readonly name: string;
  readonly archive: Buffer;
  readonly files: string[];
  readonly leftOut: readonly LeftOut[];
}

export async function exportArchive(app: App, input: string): Promise<ExportedProfile> {
  const profile = await app.profiles.find(input);
  const { files, leftOut } = await portableProfile(profile);
  const names = secretNames(profile);
  const all = names.length === 0 ? files : [...files, secretNamesFile(names)];
  // One without any settings is a profile, too.
  const packed = all.length === 0 ? [secretNamesFile([])] : all;
  return { name: profile.name, archive: await packProfile(profile.name, packed), files: packed.map(({ path }) => path), leftOut };
}

function secretNamesFile(names: readonly string[]): PortableFile {
  const text = ["# What the profile has in its .env, without the values.", ...names.map((name) => `${name}=`), ""].join("\n");
  return { path: SECRET_NAMES_FILE, content: new TextEncoder().encode(text), executable: false };
}

async function writeNewFile(path: string, content: Buffer): Promise<void> {
  try {
    await writeFile(path, content, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if (systemCode(error) === "EEXIST")
      throw new HoldfastError("file-exists", `${path} is already there`, {
        hint: "name another file with -o, or replace it with --force",
        facts: { path },
        cause: error,
      });
    // ENOENT: it was never made. Any other failure matters less than the one being reported.
    await unlink(path).catch(() => {});
    throw hostFailed(path, error);
  }
}
