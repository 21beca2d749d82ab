import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readOption } from "../base/read-option.ts";
import { type LoadedConfig, loadConfig } from "./load.ts";
import { CONFIG_KEYS, type ConfigKey } from "./schema.ts";

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "holdfast-precedence-"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** The highest first. */
const SOURCES = ["flag", "environment", "dotenv", "file"] as const;
type SourceName = (typeof SOURCES)[number];

test.each(CONFIG_KEYS.map((key) => [key.key, key] as const))(
  "S47 %s: any source beats those below it, in any combination",
  async (_, key) => {
    const [one, two] = twoValues(key);
    for (let used = 0; used < 2 ** SOURCES.length; used++) {
      const present = SOURCES.filter((_source, index) => used & (1 << index));
      // Neighbours always differ, so a wrong winner shows even where a key has only two values.
      const given = present.map((source, index) => [source, index % 2 === 0 ? one : two] as const);
      const explanation = (await loadFrom(key, given)).explain(key.key);
      const expected = [...given.map(([source, { value }]) => [source, value]), ["default", key.default]];
      const found = [explanation, ...explanation.shadowed].map(({ source, value }) => [source.kind, value]);
      expect(found).toEqual(expected);
    }
  },
);

test.each(CONFIG_KEYS.map((key) => [key.key, key] as const))("S47 %s: every source means the same value", async (_, key) => {
  for (const sample of twoValues(key)) {
    for (const source of SOURCES) {
      const loaded = await loadFrom(key, [[source, sample]]);
      expect((loaded.values as Record<string, Record<string, unknown>>)[key.section]?.[key.name]).toEqual(sample.value);
    }
  }
});

interface Sample {
  readonly text: string;
  readonly value: unknown;
}

async function loadFrom(key: ConfigKey, given: readonly (readonly [SourceName, Sample])[]): Promise<LoadedConfig> {
  const text = (source: SourceName) => given.find(([name]) => name === source)?.[1].text;
  const [flag, variable, line, value] = SOURCES.map(text);
  await writeFile(join(home, ".env"), line === undefined ? "" : `${key.variable}='${line}'\n`);
  // Every value here is JSON or a plain word, so it is YAML as it is.
  await writeFile(join(home, "config.yaml"), value === undefined ? "" : `${key.section}:\n  ${key.name}: ${value}\n`);
  return loadConfig({
    home,
    environment: variable === undefined ? {} : { [key.variable]: variable },
    flags: flag === undefined ? [] : [{ name: "-c", key: key.key, value: flag }],
  });
}

// Enough for every kind there is; a key that accepts fewer than two of these needs more here.
const TEXTS = [
  "true",
  "false",
  "1",
  "2",
  "7",
  "8",
  "4096",
  "4097",
  '["A"]',
  '["B", "C"]',
  '["/a:/b"]',
  '["/c:/d:ro"]',
  '{"A": "1"}',
  '{"B": "2"}',
];

/** Two texts that mean different values, neither of them the default where the kind has more than two. */
function twoValues(key: ConfigKey): [Sample, Sample] {
  const samples = [...key.option.choices, ...TEXTS].flatMap((text): Sample[] => {
    const reading = readOption(key.option, text);
    return reading.ok && reading.leftOut.length === 0 ? [{ text, value: reading.value }] : [];
  });
  const [one, two] = samples.toSorted((a, b) => Number(isDefault(key, a)) - Number(isDefault(key, b)));
  if (one === undefined || two === undefined) return expect.fail(`no two samples for ${key.key}`);
  return [one, two];
}

function isDefault(key: ConfigKey, { value }: Sample): boolean {
  return isDeepStrictEqual(value, key.default);
}
