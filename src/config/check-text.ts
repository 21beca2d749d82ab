/** @module Checking the text of a `config.yaml` before it counts, with the words that the loader would use. */
import { createFindings, type Findings, throwProblems } from "./findings.ts";
import { parseYamlFile, readYamlFile, type YamlFile } from "./yaml-file.ts";

export interface CheckedText {
  readonly parsed: YamlFile;
  /** Keys that it sets, with the values that would count. */
  readonly settings: ReadonlyMap<string, unknown>;
  /** Where it says something that only another program reads: a section, or a key of one. */
  readonly elsewhere: Findings["elsewhere"];
  /** What a person should hear although nothing is wrong. */
  readonly warnings: readonly string[];
}

/** `file`: what to call it. @throws `config-syntax`, `config-unknown-key`, `config-bad-value` */
export async function checkConfigText(file: string, text: string): Promise<CheckedText> {
  const findings = createFindings();
  const settings = new Map<string, unknown>();
  const parsed = await parseYamlFile(file, text);
  const collecting: typeof findings = {
    ...findings,
    add(key, input, details) {
      findings.add(key, input, details);
      const [found] = findings.settingsOf(key);
      if (found) settings.set(key.key, found.value);
    },
  };
  readYamlFile(parsed, collecting);
  throwProblems(findings.problems);
  return { parsed, settings, elsewhere: findings.elsewhere, warnings: findings.warnings };
}
