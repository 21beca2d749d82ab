/** @module The configuration of one profile, from all its sources: flag > the task's own > environment > `.env` > `config.yaml` > default. */
import { join } from "node:path";
import { suggest } from "../base/suggest.ts";
import { type Dotenv, parseDotenv } from "./dotenv.ts";
import type { Environment } from "./environment.ts";
import { createFindings, type Findings, throwProblems } from "./findings.ts";
import type { FlagSetting } from "./flags.ts";
import { OTHER_VARIABLES, variableWithoutEffect } from "./hermes.ts";
import { readConfigFile } from "./read-file.ts";
import { CONFIG_KEYS, type Config, type ConfigKey, findKey, lookUpKey, SECTIONS } from "./schema.ts";
import { describeSource, type Setting, type Source } from "./source.ts";
import { parseYamlFile, readYamlFile } from "./yaml-file.ts";

export interface LoadOptions {
  /** The profile's home directory; need not exist. */
  readonly home: string;
  readonly environment: Environment;
  /** Of two for the same key the later one counts. */
  readonly flags?: readonly FlagSetting[];
  /** What a task has for itself, by key. */
  readonly ofTask?: { readonly task: string; readonly settings: Readonly<Record<string, string>> } | undefined;
}

export interface LoadedConfig {
  readonly values: Config;
  /** Where the value of a key comes from. @throws `config-unknown-key` */
  explain(key: string): Explanation;
  /** All keys, in the order of the schema. */
  entries(): Explanation[];
  /** What a person should hear although nothing failed. */
  readonly warnings: readonly string[];
  /** Everything in the profile's `.env`: secrets included. */
  readonly dotenv: Readonly<Record<string, string>>;
  readonly files: ConfigFiles;
}

export interface Explanation extends Setting {
  readonly key: ConfigKey;
  /** The values that would count if this one were not there, the next first. The default is the last of them. */
  readonly shadowed: readonly Setting[];
}

export interface ConfigFiles {
  readonly config: string;
  readonly env: string;
}

export function configFiles(home: string): ConfigFiles {
  return { config: join(home, "config.yaml"), env: join(home, ".env") };
}

/** @throws `config-unreadable`, `config-syntax`, `config-unknown-key` or `config-bad-value`; `facts.problems` lists all that is wrong. */
export async function loadConfig({ home, environment, flags = [], ofTask }: LoadOptions): Promise<LoadedConfig> {
  const files = configFiles(home);
  const dotenv = parseDotenv(readConfigFile(files.env) ?? "");
  const configText = readConfigFile(files.config);
  const findings = createFindings();

  for (const { name, key, value } of flags.toReversed()) readSetting({ kind: "flag", name }, { key, value }, findings);
  for (const [key, value] of Object.entries(ofTask?.settings ?? {}))
    readSetting({ kind: "task", task: ofTask?.task ?? "" }, { key, value }, findings);
  readEnvironment(environment, findings);
  readDotenv(dotenv, files.env, findings);
  if (configText !== undefined) {
    readYamlFile(await parseYamlFile(files.config, configText), findings);
  }
  throwProblems(findings.problems);

  const explain = (key: ConfigKey) => explanationOf(key, findings);
  return {
    values: valuesOf(findings),
    explain: (key) => explain(findKey(key)),
    entries: () => CONFIG_KEYS.map(explain),
    warnings: findings.warnings,
    dotenv: Object.fromEntries(dotenv.entries.map(({ name, value }) => [name, value])),
    files,
  };
}

function readSetting(source: Source, { key, value }: { key: string; value: unknown }, findings: Findings): void {
  const known = lookUpKey(key);
  if (known === undefined) findings.addUnknownKey(key, source);
  else findings.add(known, value, { source, raw: typeof value === "string" ? value : (JSON.stringify(value) ?? "") });
}

/** An empty variable is not set: that is how others take one back. */
function readEnvironment(environment: Environment, findings: Findings): void {
  for (const key of CONFIG_KEYS) {
    for (const variable of variablesOf(key)) {
      const raw = environment[variable];
      if (raw) findings.add(key, raw, { source: { kind: "environment", variable }, raw });
    }
  }
  for (const variable of Object.keys(environment)) {
    if (environment[variable]) warnOfVariable(variable, { kind: "environment", variable }, findings);
  }
}

/** The names of those that are settings, or meant to be. */
export function readDotenv(dotenv: Dotenv, file: string, findings: Findings): ReadonlySet<string> {
  for (const { line, message } of dotenv.problems) {
    const source: Source = { kind: "file", file, line };
    findings.addProblem({ code: "config-syntax", message: `${message} (${describeSource(source)})`, source });
  }
  const byVariable = Map.groupBy(dotenv.entries, ({ name }) => name);
  for (const [variable, entries] of byVariable) {
    const lines = entries.map(({ line }) => line);
    if (lines.length > 1)
      findings.addWarning(`${variable} is set more than once in ${file} (lines ${lines.join(", ")}); the last one counts`);
    warnOfVariable(variable, { kind: "dotenv", variable, file, line: lines[0] ?? 0 }, findings);
  }
  for (const key of CONFIG_KEYS) {
    for (const variable of variablesOf(key)) {
      for (const { value, line } of byVariable.get(variable)?.toReversed() ?? [])
        if (value) findings.add(key, value, { source: { kind: "dotenv", variable, file, line }, raw: value });
    }
  }
  const isSetting = (name: string) =>
    OWN_VARIABLES.has(name) || Object.hasOwn(OTHER_VARIABLES, name) || variableWithoutEffect(name) !== undefined;
  return new Set([...byVariable.keys()].filter(isSetting));
}

const OWN_VARIABLES: ReadonlySet<string> = new Set(CONFIG_KEYS.map((key) => key.variable));
const PREFIXES: readonly string[] = Object.values(SECTIONS).map(({ prefix }) => prefix);

/** Its own name counts before the one that another program has for it. */
function variablesOf({ key, variable }: ConfigKey): string[] {
  return [variable, ...Object.keys(OTHER_VARIABLES).filter((other) => OTHER_VARIABLES[other] === key)];
}

/** Other programs own names with our prefixes too, so an unknown one is no error; but one that looks like ours gets a word. */
function warnOfVariable(variable: string, source: Source, findings: Findings): void {
  const prefix = PREFIXES.find((start) => variable.startsWith(start));
  if (prefix === undefined || OWN_VARIABLES.has(variable) || Object.hasOwn(OTHER_VARIABLES, variable)) return;
  const instead = variableWithoutEffect(variable);
  if (instead !== undefined) {
    findings.addWithoutEffect(variable, instead, source);
    return;
  }
  const names = CONFIG_KEYS.filter((key) => key.variable.startsWith(prefix)).map((key) => key.name);
  const near = suggest(variable.slice(prefix.length), names);
  if (near === undefined) return;
  findings.addWarning(`${describeSource(source)} is not known to Holdfast; did you mean ${prefix}${near.toUpperCase()}?`);
}

function explanationOf(key: ConfigKey, findings: Findings): Explanation {
  const fallback: Setting = { value: key.default, raw: null, source: { kind: "default" } };
  const [winner = fallback, ...shadowed] = [...findings.settingsOf(key), fallback];
  return { key, ...winner, shadowed };
}

function valuesOf(findings: Findings): Config {
  const sections = Object.keys(SECTIONS).map((name) => {
    const keys = CONFIG_KEYS.filter((key) => key.section === name);
    return [name, Object.freeze(Object.fromEntries(keys.map((key) => [key.name, explanationOf(key, findings).value])))];
  });
  // The schema that checked each value is the one that the type is made of.
  return Object.freeze(Object.fromEntries(sections)) as Config;
}
