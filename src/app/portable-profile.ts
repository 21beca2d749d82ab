/** @module What a profile takes along when it is cloned or exported: its settings, soul, description and skills, and no secrets (K2). */
import { join } from "node:path";
import { readEnvFile } from "../config/env-file.ts";
import { createSecretSearch, type SecretSearch, withoutSecrets } from "../config/secrets.ts";
import { CONFIG_FILE, type LeftOut, type Portable, type PortableFile, readPortable } from "../profiles/portable.ts";
import type { ProfileInfo } from "../profiles/profiles.ts";

/** @throws what is wrong with its config.yaml, in which secrets can only be found if it can be read */
export async function portableProfile({ home }: Pick<ProfileInfo, "home">): Promise<Portable> {
  const search = createSecretSearch(readEnvFile(home));
  const found = await readPortable(home);
  const cleaned = await Promise.all(found.files.map((file) => withoutSecretsOf(file, { home, search })));
  return { files: cleaned.flatMap(({ files }) => files), leftOut: [...found.leftOut, ...cleaned.flatMap(({ leftOut }) => leftOut)] };
}

/** The names of the secrets, for whoever has to fill them in. */
export function secretNames({ home }: Pick<ProfileInfo, "home">): string[] {
  return [...new Set(Object.keys(readEnvFile(home)))];
}

async function withoutSecretsOf(file: PortableFile, { home, search }: { home: string; search: SecretSearch }): Promise<Portable> {
  const text = new TextDecoder().decode(file.content);
  if (file.path !== CONFIG_FILE) {
    const leftOut: LeftOut[] = search.inText(text) ? [{ path: file.path, reason: "there is a secret in it" }] : [];
    return { files: leftOut.length > 0 ? [] : [file], leftOut };
  }
  const clean = await withoutSecrets(join(home, CONFIG_FILE), text, search);
  const named = (reason: string) => (what: string) => ({ path: `${CONFIG_FILE}: ${what}`, reason });
  const leftOut = [...clean.leftOut.map(named("it is a secret")), ...clean.elsewhere.map(named("Holdfast does not read it"))];
  return { files: [clean.text === text ? file : { ...file, content: new TextEncoder().encode(clean.text) }], leftOut };
}
