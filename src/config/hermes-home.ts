/** @module What a Hermes home sets: its `config.yaml`, then its `.env`, by the keys that we have for it. */

import { parseDotenv } from "./dotenv.ts";
import { createFindings } from "./findings.ts";
import { configFiles, readDotenv } from "./load.ts";
import { readConfigFile } from "./read-file.ts";
import { CONFIG_KEYS } from "./schema.ts";
import { describeSource } from "./source.ts";
import { parseYamlFile, readYamlFile } from "./yaml-file.ts";

export interface HermesHome {
  /** Of two places for a key, the one that counts there. */
  readonly settings: readonly { readonly key: string; readonly value: unknown; readonly source: string }[];
  /** In words: what is not ours, means nothing here, or is wrong. */
  readonly left: readonly string[];
  /** Names in its `.env` that are no settings, such as credentials. */
  readonly others: readonly string[];
  /** Whether either file is there. */
  readonly found: boolean;
}

/** @throws `config-unreadable`; `config-syntax` when a file is not UTF-8 */
export async function readHermesHome(directory: string): Promise<HermesHome> {
  const files = configFiles(directory);
  const [config, env] = [readConfigFile(files.config), readConfigFile(files.env)];
  const findings = createFindings();
  if (config !== undefined) readYamlFile(await parseYamlFile(files.config, config), findings);
  const dotenv = parseDotenv(env ?? "");
  const settingNames = readDotenv(dotenv, files.env, findings);
  return {
    settings: CONFIG_KEYS.flatMap((key) => {
      const [setting] = findings.settingsOf(key);
      return setting ? [{ key: key.key, value: setting.value, source: describeSource(setting.source) }] : [];
    }),
    left: [...findings.warnings, ...findings.problems.map(({ message, hint }) => (hint ? `${message}; ${hint}` : message))],
    others: [...new Set(dotenv.entries.map(({ name }) => name))].filter((name) => !settingNames.has(name)),
    found: config !== undefined || env !== undefined,
  };
}
