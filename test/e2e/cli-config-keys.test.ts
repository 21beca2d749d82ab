import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type OpenHoldfastOptions, openHoldfast } from "../../src/app/open-holdfast.ts";
import { readOption } from "../../src/base/read-option.ts";
import { CONFIG_KEYS, type ConfigKey } from "../../src/config/schema.ts";
import { createTestCli, type TestCli } from "../helpers/cli.ts";

/** A way to give a value to a key; what it returns belongs to every command line, and to every opening of the library, that follows. */
type EntryPoint = (cli: TestCli, key: ConfigKey, value: unknown) => Promise<Given>;

interface Given {
  args?: string[];
  env?: Record<string, string>;
  library?: OpenHoldfastOptions;
}

const ENTRY_POINTS: Record<string, EntryPoint> = {
  "config.yaml": async (cli, key, value) => {
    await mkdir(cli.home, { recursive: true });
    await writeFile(join(cli.home, "config.yaml"), `${key.section}:\n  ${key.name}: ${JSON.stringify(value)}\n`);
    return {};
  },
  ".env": async (cli, key, value) => {
    await mkdir(cli.home, { recursive: true });
    await writeFile(join(cli.home, ".env"), `${key.variable}='${asText(value)}'\n`);
    return {};
  },
  "a variable": async (_, key, value) => ({ env: { [key.variable]: asText(value) } }),
  "-c, or config of the library": async (_, key, value) => ({
    args: ["-c", `${key.key}=${asText(value)}`],
    library: { config: { [key.key]: value } },
  }),
  "config set": async (cli, key, value) => {
    expect(await cli.run(["config", "set", "--", key.key, asText(value)])).toMatchObject({ status: 0 });
    return {};
  },
  "config.set of the library": async (cli, key, value) => {
    await using holdfast = await openHoldfast({ environment: cli.env, cwd: cli.directory });
    await holdfast.config.set(key.key, value);
    return {};
  },
};

describe.each(Object.keys(ENTRY_POINTS))("S47 by %s", (entryPoint) => {
  test.each(CONFIG_KEYS.map((key) => [key.key, key] as const))("%s has the same value everywhere", async (_, key) => {
    await using cli = await createTestCli();
    const value = sampleOf(key);
    const given = await ENTRY_POINTS[entryPoint]?.(cli, key, value);
    expect(await valueInCli(cli, key, given)).toEqual(value);
    expect(await valueInLibrary(cli, key, given)).toEqual(value);
  });

  test("terminal.cwd takes effect in the command line, its processes and the library", async () => {
    await using cli = await createTestCli();
    const directory = join(cli.directory, "begin here");
    await mkdir(directory);
    const key = CONFIG_KEYS.find(({ name }) => name === "cwd") as ConfigKey;
    const { args = [], env = {}, library = {} } = (await ENTRY_POINTS[entryPoint]?.(cli, key, directory)) ?? {};
    expect((await cli.run([...args, "exec", "-s", "one", "pwd"], { env })).stdout).toBe(`${directory}\n`);
    expect((await cli.runProcess([...args, "exec", "-s", "two", "pwd"], { env })).stdout).toBe(`${directory}\n`);
    await using holdfast = await openHoldfast({ environment: { ...cli.env, ...env }, cwd: cli.directory, ...library });
    const box = await holdfast.sandbox();
    expect((await box.run("pwd", { session: "three" })).stdout).toBe(`${directory}\n`);
  });
});

describe("S46 text from a variable", () => {
  test.each([
    ["true", true],
    ["1", true],
    ["YES", true],
    ["False", false],
    ["0", false],
    ["no", false],
  ])("%s is the boolean %s", async (text, value) => {
    await using cli = await createTestCli();
    const key = CONFIG_KEYS.find(({ name }) => name === "docker_network") as ConfigKey;
    expect(await valueInCli(cli, key, { env: { [key.variable]: text } })).toBe(value);
  });

  test("is JSON for lists and maps", async () => {
    await using cli = await createTestCli();
    const read = async (name: string, text: string) => {
      const key = CONFIG_KEYS.find((candidate) => candidate.name === name) as ConfigKey;
      return valueInCli(cli, key, { env: { [key.variable]: text } });
    };
    expect(await read("docker_env", '{"DEBUG":"1"}')).toEqual({ DEBUG: "1" });
    expect(await read("docker_extra_args", '["--cpus", "2"]')).toEqual(["--cpus", "2"]);
  });

  test.each([
    ["TERMINAL_DOCKER_NETWORK", "maybe"],
    ["TERMINAL_DOCKER_ENV", "DEBUG=1"],
    ["TERMINAL_DOCKER_VOLUMES", "/a:/b"],
    ["TERMINAL_TIMEOUT", "soon"],
    ["TERMINAL_OUTPUT_LIMIT", "1.5"],
  ])("that is neither is an error which names %s", async (variable, text) => {
    await using cli = await createTestCli();
    const { status, stderr } = await cli.run(["exec", "true"], { env: { [variable]: text } });
    expect(status).toBe(125);
    expect(stderr).toContain(`(environment variable ${variable})`);
    expect(existsSync(cli.home)).toBe(false);
  });
});

async function valueInCli(cli: TestCli, key: ConfigKey, { args = [], env = {} }: Given = {}): Promise<unknown> {
  return (await cli.json<{ value: unknown }>([...args, "config", "get", key.key], { env })).value;
}

async function valueInLibrary(cli: TestCli, key: ConfigKey, { env = {}, library = {} }: Given = {}): Promise<unknown> {
  await using holdfast = await openHoldfast({ environment: { ...cli.env, ...env }, cwd: cli.directory, ...library });
  return holdfast.config.get(key.key);
}

/** A value that the key accepts and that is not its default. A key for which none of these will do needs another one here. */
function sampleOf(key: ConfigKey): unknown {
  const near = typeof key.default === "number" ? [key.default + 1] : [];
  const texts = ["sample", "/some/where", "name:tag", "30m"];
  const collections = [["NAME"], ["/host:/container:ro"], { SAMPLE: "text" }];
  const candidates: unknown[] = [...near, ...key.option.choices, !key.default, ...texts, 7000, ...collections];
  const found = candidates.find((value) => {
    const reading = readOption(key.option, value);
    const same = reading.ok && reading.leftOut.length === 0 && JSON.stringify(reading.value) === JSON.stringify(value);
    return same && JSON.stringify(value) !== JSON.stringify(key.default);
  });
  if (found === undefined) throw new Error(`sampleOf has no value that ${key.key} accepts`);
  return found;
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
