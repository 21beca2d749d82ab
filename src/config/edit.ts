/** @module Changing a profile's `config.yaml`: checked first, everything else in the file kept, safe against other editors of ours. */
import { realpath, stat } from "node:fs/promises";
import { writeFailed, writeFileAtomic } from "../base/atomic-file.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { HoldfastError, systemCode } from "../base/errors.ts";
import { withFileLock } from "../base/file-lock.ts";
import { makeDirectory } from "../base/make-directory.ts";
import { readOption } from "../base/read-option.ts";
import { checkConfigText } from "./check-text.ts";
import { createFindings, throwProblems } from "./findings.ts";
import { configFiles } from "./load.ts";
import { readConfigFile } from "./read-file.ts";
import { type ConfigKey, findKey, SECTIONS } from "./schema.ts";
import { entriesOf, parseYamlFile, type YamlFile } from "./yaml-file.ts";
import { setInText, unsetInText } from "./yaml-splice.ts";

export interface EditOptions {
  readonly clock?: Clock;
}

export interface EditResult {
  readonly file: string;
  /** False when the file already said so; then it was not written. */
  readonly changed: boolean;
}

/**
 * Sets a key in the profile's `config.yaml`, making the home (0700) and the file (0600) if missing. Text is read as in a variable.
 * @throws `config-unknown-key`, `config-bad-value`; `config-syntax`, `config-unreadable` or `config-not-editable` when the file is not one
 * that can be edited; `locked`; `state-write-failed`.
 */
export async function setValue(home: string, name: string, input: unknown, options: EditOptions = {}): Promise<EditResult> {
  const key = findKey(name);
  const value = checkedValue(key, input);
  return editFile(home, (file) => setInText(file, [key.section, key.name], value), options);
}

/** Takes a key out of the profile's `config.yaml`, so that the next source counts. Harmless when it is not there. */
export async function unsetValue(home: string, name: string, options: EditOptions = {}): Promise<EditResult> {
  const key = findKey(name);
  return editFile(home, (file) => unsetInText(file, [key.section, key.name]), options);
}

/** The whole text of the profile's `config.yaml`, or undefined when there is none. @throws `config-unreadable` */
export async function readConfigText(home: string): Promise<string | undefined> {
  return readConfigFile(configFiles(home).config);
}

/**
 * Replaces the whole text after checking every line of it. `before` is what `readConfigText` gave when the work on `after` began.
 * @throws `config-changed` when the file says something else by now; what is wrong with `after`; `locked`; `state-write-failed`.
 */
export async function replaceConfigText(
  home: string,
  { before, after }: { before: string | undefined; after: string },
  options: EditOptions = {},
): Promise<EditResult> {
  const file = configFiles(home).config;
  await checkConfigText(file, after);
  return replaceFile(
    home,
    async (text) => {
      if (text !== before)
        throw new HoldfastError("config-changed", `${file} was changed by another process meanwhile`, { facts: { file } });
      return after;
    },
    options,
  );
}

function checkedValue(key: ConfigKey, input: unknown): unknown {
  const reading = readOption(key.option, input);
  const facts = { key: key.key };
  if (!reading.ok) {
    const message = `${key.key} must be ${reading.expected}, not ${reading.found}`;
    throw new HoldfastError("config-bad-value", message, { hint: reading.hint, facts });
  }
  // When reading a file, such an entry is left out with a warning; nobody should begin by writing one.
  if (reading.leftOut.length > 0) throw new HoldfastError("config-bad-value", `${key.key}: ${reading.leftOut.join("; ")}`, { facts });
  return reading.value;
}

async function editFile(home: string, change: (file: YamlFile) => Promise<string>, options: EditOptions): Promise<EditResult> {
  return replaceFile(
    home,
    async (text = "") => {
      const parsed = await parseYamlFile(configFiles(home).config, text);
      refuseBrokenFile(parsed);
      return change(parsed);
    },
    options,
  );
}

/** Hands the present text to `change` and writes what comes back, with nobody else of ours in between. */
async function replaceFile(
  home: string,
  change: (text: string | undefined) => Promise<string>,
  { clock = systemClock }: EditOptions,
): Promise<EditResult> {
  const file = configFiles(home).config;
  await makeHome(home);
  const target = await resolveLink(file);
  return withFileLock(
    target,
    async () => {
      const text = readConfigFile(target);
      const changed = await change(text);
      if (changed === (text ?? "")) return { file, changed: false };
      await writeFileAtomic(target, changed, await attributesOf(target));
      return { file, changed: true };
    },
    { clock },
  );
}

async function makeHome(home: string): Promise<void> {
  try {
    await makeDirectory(home);
  } catch (error) {
    throw writeFailed(home, error);
  }
}

/** A linked file is edited where it really is, so the link stays, and two profiles that share it share its lock. */
async function resolveLink(file: string): Promise<string> {
  // Says what is wrong with a link that leads nowhere, which realpath calls a missing file.
  if (readConfigFile(file) === undefined) return file;
  return realpath(file);
}

/** Bad values do not stand in the way: setting a value is how they are repaired. */
function refuseBrokenFile(parsed: YamlFile): void {
  throwProblems(parsed.problems);
  const findings = createFindings();
  for (const { name, node } of entriesOf(parsed, { node: parsed.document.contents, what: "the file" }, findings)) {
    if (Object.hasOwn(SECTIONS, name)) entriesOf(parsed, { node, what: name }, findings);
  }
  throwProblems(findings.problems);
}

async function attributesOf(path: string): Promise<{ mode: number; owner?: { uid: number; gid: number } }> {
  try {
    const { mode, uid, gid } = await stat(path);
    const foreign = uid !== process.getuid?.() || gid !== process.getgid?.();
    return { mode: mode & 0o7777, ...(foreign && { owner: { uid, gid } }) };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return { mode: 0o600 };
    throw writeFailed(path, error);
  }
}
