/** @module What a profile is for, in its own words: the file `profile.json` in its home. */
import { join } from "node:path";
import * as z from "zod/mini";
import { writeFailed, writeFileAtomic } from "../base/atomic-file.ts";
import { HoldfastError } from "../base/errors.ts";
import { makeDirectory } from "../base/make-directory.ts";
import { readStateFile } from "../base/regular-file.ts";

export const DESCRIPTION_FILE = "profile.json";
const LONGEST = 500;
const Content = z.strictObject({ version: z.literal(1), description: z.nullable(z.string()) });

/** Null when it has none. @throws `state-unreadable` */
export function readDescription(home: string): string | null {
  const path = join(home, DESCRIPTION_FILE);
  const text = readStateFile(path);
  return text === undefined ? null : parseDescription(text, path);
}

/** Null takes it away. @throws `invalid-input`; `state-write-failed` */
export async function writeDescription(home: string, description: string | null): Promise<string | null> {
  const checked = description === null ? null : checkDescription(description);
  await makeDirectory(home).catch((error: unknown) => Promise.reject(writeFailed(home, error)));
  const content = `${JSON.stringify({ version: 1, description: checked }, null, 2)}\n`;
  await writeFileAtomic(join(home, DESCRIPTION_FILE), content, { mode: 0o600 });
  return checked;
}

/** `file`: what to call the text if it is none. @throws `state-unreadable` */
export function parseDescription(text: string, file: string): string | null {
  try {
    const { description } = z.parse(Content, JSON.parse(text));
    return description === null ? null : checkDescription(description);
  } catch (error) {
    throw new HoldfastError("state-unreadable", `${file} does not hold the description of a profile`, {
      hint: "remove the file, then give the profile a description with `holdfast profile describe NAME TEXT`",
      facts: { path: file },
      cause: error,
    });
  }
}

function checkDescription(input: string): string {
  const description = input.trim();
  const refused =
    description === ""
      ? "is empty"
      : description.length > LONGEST
        ? `has more than ${LONGEST} characters`
        : /\p{Cc}|\p{Zl}|\p{Zp}/u.test(description)
          ? "has line breaks or other control characters"
          : null;
  if (refused === null) return description;
  throw new HoldfastError("invalid-input", `the description of the profile ${refused}`, {
    hint: `write one line of 1 to ${LONGEST} characters; \`holdfast profile describe NAME --clear\` takes it away`,
  });
}
