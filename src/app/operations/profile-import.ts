/** @module Makes a profile from an archive that anybody may have made. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";
import { parseProfileName } from "../../base/names.ts";
import { checkConfigText } from "../../config/check-text.ts";
import { unpackProfile } from "../../profiles/archive.ts";
import { DESCRIPTION_FILE, parseDescription } from "../../profiles/description.ts";
import { CONFIG_FILE, MOST_BYTES, type PortableFile } from "../../profiles/portable.ts";
import { fromCaller } from "../caller-directory.ts";
import { hostFailed } from "../host-file.ts";
import { defineOperation } from "../operation.ts";
import { LeftOutShape } from "../schemas.ts";

export const profileImport = defineOperation({
  name: "profile.import",
  summary: "Make a profile from an archive of `profile.export`; everything in it is checked before anything counts",
  input: z.strictObject({ file: z.string(), name: z.optional(z.string()) }),
  output: z.object({
    name: z.string(),
    home: z.string(),
    files: z.array(z.string()),
    /** Keys that its config.yaml sets. */
    configured: z.array(z.string()),
    /** What was in the archive and is not in the profile, and why. */
    leftOut: z.readonly(z.array(LeftOutShape)),
    /** What a person should hear of its configuration. */
    warnings: z.readonly(z.array(z.string())),
  }),
  async run(app, { file, name: wanted }) {
    if (wanted !== undefined) parseProfileName(wanted);
    const unpacked = await unpackProfile(await readArchive(fromCaller(app, file)));
    const { configured, warnings } = await checkFiles(unpacked.files, file);
    const made = await app.profiles.create(wanted ?? unpacked.name, { files: unpacked.files }).catch((error: unknown) => {
      if (!HoldfastError.isInstance(error) || error.code !== "profile-exists") throw error;
      throw new HoldfastError(error.code, error.message, { hint: "give it another name with --name", facts: error.facts, cause: error });
    });
    const files = unpacked.files.map(({ path }) => path);
    return { name: made.name, home: made.home, files, configured, leftOut: unpacked.leftOut, warnings };
  },
});

async function checkFiles(files: readonly PortableFile[], archive: string): Promise<{ configured: string[]; warnings: readonly string[] }> {
  const textOf = (path: string) => {
    const found = files.find((file) => file.path === path);
    return found && decode(found, archive);
  };
  const description = textOf(DESCRIPTION_FILE);
  if (description !== undefined) parseDescription(description, `${DESCRIPTION_FILE} in ${archive}`);
  const config = textOf(CONFIG_FILE);
  if (config === undefined) return { configured: [], warnings: [] };
  const { settings, warnings } = await checkConfigText(`${CONFIG_FILE} in ${archive}`, config);
  return { configured: [...settings.keys()], warnings };
}

function decode({ path, content }: PortableFile, archive: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch (error) {
    // TypeError: the decoder met bytes that are not UTF-8.
    throw new HoldfastError("config-syntax", `${path} in ${archive} is not UTF-8 text`, { hint: "save it as UTF-8", cause: error });
  }
}

async function readArchive(path: string): Promise<Buffer> {
  try {
    // A pipe would be waited for without end.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    if (!found.isFile())
      throw new HoldfastError("file-failed", `${path} is not a regular file`, { hint: "name the archive itself", facts: { path } });
    if (found.size > MOST_BYTES)
      throw new HoldfastError("too-large", `${path} is larger than ${MOST_BYTES} bytes`, {
        hint: "it is no archive of a profile",
        facts: { path },
      });
    return await file.readFile();
  } catch (error) {
    throw hostFailed(path, error);
  }
}
