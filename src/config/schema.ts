/** @module Every configuration key, composed from the options of the parts that use them. */
import { HoldfastError } from "../base/errors.ts";
import type { Option, OptionKind, OptionValues } from "../base/option.ts";
import { suggest } from "../base/suggest.ts";
import { kanbanOptions } from "../dispatcher/options.ts";
import { modelOptions } from "../model/options.ts";
import { workerOptions } from "../profiles/options.ts";
import { driverOptions } from "../sandbox/driver-options.gen.ts";
import { sandboxOptions } from "../sandbox/options.ts";

/** The sections of `config.yaml`. A new one is one entry here: its keys, variables, checks and documentation follow from it. */
export const SECTIONS = {
  terminal: {
    prefix: "TERMINAL_",
    options: { ...sandboxOptions, ...driverOptions },
    about: "Keys that name a backend take effect with the driver of that backend.",
  },
  kanban: {
    prefix: "HOLDFAST_KANBAN_",
    options: kanbanOptions,
    about: "All profiles share the boards, so only what stands in the configuration of `default` counts, and variables and flags.",
  },
  worker: { prefix: "HOLDFAST_WORKER_", options: workerOptions, about: "What this profile runs when it works on a task of a board." },
  model: {
    prefix: "HOLDFAST_MODEL_",
    options: modelOptions,
    about: "For `kanban decompose` and `kanban specify`. Its key is `HOLDFAST_MODEL_API_KEY`, a variable or a line in `.env`.",
  },
};

export type Config = { readonly [Name in keyof typeof SECTIONS]: OptionValues<(typeof SECTIONS)[Name]["options"]> };

export interface ConfigKey {
  /** `terminal.timeout` */
  readonly key: string;
  /** `terminal` */
  readonly section: string;
  /** `timeout` */
  readonly name: string;
  /** `TERMINAL_TIMEOUT` */
  readonly variable: string;
  readonly kind: OptionKind;
  readonly default: unknown;
  readonly help: string;
  readonly option: Option;
}

export const CONFIG_KEYS: readonly ConfigKey[] = Object.entries(SECTIONS).flatMap(([name, { prefix, options }]) =>
  Object.entries<Option>(options).map(([optionName, declared]) => ({
    key: `${name}.${optionName}`,
    section: name,
    name: optionName,
    variable: prefix + optionName.toUpperCase(),
    kind: declared.kind,
    default: declared.default,
    help: declared.help,
    option: declared,
  })),
);

const BY_KEY: ReadonlyMap<string, ConfigKey> = new Map(CONFIG_KEYS.map((key) => [key.key, key]));

/** @throws `config-unknown-key`, with the key that was probably meant. */
export function findKey(name: string): ConfigKey {
  const found = lookUpKey(name);
  if (found !== undefined) return found;
  throw new HoldfastError("config-unknown-key", `there is no configuration key ${JSON.stringify(name.slice(0, 80))}`, {
    hint: unknownKeyHint(name),
    facts: { key: name },
  });
}

export function lookUpKey(name: string): ConfigKey | undefined {
  return BY_KEY.get(name);
}

/** What a name at the top of `config.yaml` was probably meant to be: a section, or a key without its section. */
export function sectionMeant(name: string): string | undefined {
  const section = suggest(name, Object.keys(SECTIONS));
  return section === undefined ? CONFIG_KEYS.find((key) => key.name === name || key.variable === name)?.key : `${section}:`;
}

/** The key that was probably meant: misspelt, without its section or with a wrong one, or written as its variable. */
export function unknownKeyHint(name: string): string | undefined {
  const [section, lastPart] = [name.slice(0, name.indexOf(".")), name.slice(name.lastIndexOf(".") + 1)];
  const atTop = name.includes(".") || Object.hasOwn(SECTIONS, name) ? undefined : sectionMeant(name);
  if (atTop !== undefined) return `did you mean "${atTop}"? \`holdfast config list\` shows every key`;
  const exact = CONFIG_KEYS.find((key) => key.variable === name || key.name === lastPart);
  const ofSection = CONFIG_KEYS.filter((key) => key.section === section);
  const meant = exact ?? nearest(lastPart, ofSection) ?? nearest(lastPart, CONFIG_KEYS);
  return meant && `did you mean "${meant.key}"? \`holdfast config list\` shows every key`;
}

// Compared without the section: as a part of both names it would make any two of them look alike.
function nearest(name: string, keys: readonly ConfigKey[]): ConfigKey | undefined {
  const near = suggest(
    name,
    keys.map((key) => key.name),
  );
  return keys.find((key) => key.name === near);
}
