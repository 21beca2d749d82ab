import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readOption } from "../base/read-option.ts";
import { readConfigText, replaceConfigText, setValue, unsetValue } from "./edit.ts";
import { loadConfig } from "./load.ts";
import { CONFIG_KEYS, type ConfigKey } from "./schema.ts";

let directory: string;
let home: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-edit-"));
  home = directory;
  file = join(home, "config.yaml");
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const yaml = (text: string) => writeFile(file, text);
const content = () => readFile(file, "utf8");
const loadedValue = async (key: string) => (await loadConfig({ home, environment: {} })).explain(key).value;

describe("setting a value", () => {
  test("makes the home and the file, for the owner alone", async () => {
    home = join(home, "deep", "home");
    expect(await setValue(home, "terminal.timeout", "60")).toEqual({ file: join(home, "config.yaml"), changed: true });
    expect(await readFile(join(home, "config.yaml"), "utf8")).toBe("terminal:\n  timeout: 60\n");
    expect((await stat(home)).mode & 0o777).toBe(0o700);
    expect((await stat(join(home, "config.yaml"))).mode & 0o777).toBe(0o600);
  });

  test("keeps the mode of the file and leaves nothing else behind", async () => {
    await yaml("");
    await chmod(file, 0o640);
    await setValue(home, "terminal.timeout", 60);
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    expect((await readdir(home)).sort()).toEqual(["config.yaml", "config.yaml.lock"]);
  });

  test("does not write what is already there", async () => {
    await yaml("terminal:\n  timeout: 60   # c\n");
    const before = await stat(file);
    expect(await setValue(home, "terminal.timeout", 60)).toEqual({ file, changed: false });
    expect((await stat(file)).ino).toBe(before.ino);
  });

  test("a linked file stays a link, and its target is replaced", async () => {
    await mkdir(join(home, "dotfiles"));
    const target = join(home, "dotfiles", "holdfast.yaml");
    await writeFile(target, "# mine\n");
    await symlink(join("dotfiles", "holdfast.yaml"), file);
    await setValue(home, "terminal.timeout", 60);
    expect((await lstat(file)).isSymbolicLink()).toBe(true);
    expect(await readFile(target, "utf8")).toBe("# mine\nterminal:\n  timeout: 60\n");
  });

  test.each([
    ["terminal.timout", "5", "config-unknown-key"],
    ["terminal.timeout", "soon", "config-bad-value"],
    ["terminal.timeout", null, "config-bad-value"],
    ["terminal.docker_env", '{"B-AD": "1"}', "config-bad-value"],
    ["terminal.backend", "ssh", "config-bad-value"],
  ])("%s = %j is refused before anything is touched", async (key, value, code) => {
    home = join(home, "none");
    await expect(setValue(home, key, value)).rejects.toMatchObject({ code });
    await expect(stat(home)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test.each([
    ["terminal:\n\ttimeout: 5\n", "config-syntax"],
    ["terminal: [\n", "config-syntax"],
    ["terminal:\n  timeout: 1\n  timeout: 2\n", "config-syntax"],
    ["terminal: 5\n", "config-bad-value"],
    ["- a\n", "config-bad-value"],
  ])("a file that cannot be understood is left alone: %j", async (text, code) => {
    await yaml(text);
    await expect(setValue(home, "terminal.cwd", "/x")).rejects.toMatchObject({ code, message: expect.stringContaining(file) });
    await expect(unsetValue(home, "terminal.cwd")).rejects.toMatchObject({ code });
    expect(await content()).toBe(text);
  });

  test("a bad value in the file can be repaired", async () => {
    await yaml("terminal:\n  timeout: soon\n  unknown: 1\n");
    await setValue(home, "terminal.timeout", "5");
    expect(await content()).toBe("terminal:\n  timeout: 5\n  unknown: 1\n");
  });

  test("a directory, a link to nothing, a home that is a file", async () => {
    await mkdir(file);
    await expect(setValue(home, "terminal.cwd", "/x")).rejects.toMatchObject({ code: "config-unreadable" });
    await rm(file, { recursive: true });
    await symlink("nothing", file);
    await expect(setValue(home, "terminal.cwd", "/x")).rejects.toMatchObject({ code: "config-unreadable" });
    await rm(file);
    await yaml("");
    await expect(setValue(file, "terminal.cwd", "/x")).rejects.toMatchObject({
      code: "state-write-failed",
      message: expect.stringContaining(file),
    });
  });
});

describe("unsetting a value", () => {
  test("takes it out, and twice is harmless", async () => {
    await yaml("terminal:\n  timeout: 5\n  cwd: /x\n");
    expect(await unsetValue(home, "terminal.timeout")).toEqual({ file, changed: true });
    expect(await unsetValue(home, "terminal.timeout")).toEqual({ file, changed: false });
    expect(await content()).toBe("terminal:\n  cwd: /x\n");
    await expect(unsetValue(home, "terminal.nope")).rejects.toMatchObject({ code: "config-unknown-key" });
  });

  test("in a home without a file makes none", async () => {
    await unsetValue(home, "terminal.timeout");
    await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("replacing the whole text", () => {
  test("makes the file, or replaces exactly what was read before", async () => {
    expect(await readConfigText(home)).toBeUndefined();
    expect(await replaceConfigText(home, { before: undefined, after: "# new\n" })).toEqual({ file, changed: true });
    const before = await readConfigText(home);
    expect(before).toBe("# new\n");
    await replaceConfigText(home, { before, after: "terminal:\n  timeout: 5\n" });
    expect(await content()).toBe("terminal:\n  timeout: 5\n");
  });

  test("refuses to overwrite what another wrote meanwhile", async () => {
    await yaml("# theirs\n");
    for (const before of [undefined, "# mine\n"]) {
      await expect(replaceConfigText(home, { before, after: "# mine, edited\n" })).rejects.toMatchObject({ code: "config-changed" });
    }
    expect(await content()).toBe("# theirs\n");
  });

  test.each([
    ["terminal: [", "config-syntax"],
    ["terminal:\n  timout: 5\n", "config-unknown-key"],
    ["terminal:\n  timeout: soon\n", "config-bad-value"],
  ])("refuses a text with a mistake: %j", async (after, code) => {
    await expect(replaceConfigText(home, { before: undefined, after })).rejects.toMatchObject({
      code,
      message: expect.stringContaining(file),
    });
    await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("two at once", () => {
  const empty = (kind: string) => kind === "optional string" || kind === "list";
  const names = CONFIG_KEYS.filter(({ kind, section }) => section === "terminal" && empty(kind)).map(({ key }) => key);

  test("in one process: nothing is lost", async () => {
    await Promise.all(names.map((name) => setValue(home, name, null)));
    const text = await content();
    for (const name of names) expect(text).toContain(`  ${name.replace("terminal.", "")}: `);
  });

  test("in two processes: nothing is lost", async () => {
    await yaml("# head\nterminal:\n  timeout: 5 # five\n\n# tail\n");
    const env = (half: number) => names.filter((_, index) => index % 2 === half);
    const script = (keys: string[]) => `
      import { readConfigText, replaceConfigText, setValue, unsetValue } from ${JSON.stringify(new URL("./edit.ts", import.meta.url).href)};
      const home = ${JSON.stringify(home)};
      for (let round = 0; round < 5; round++) {
        for (const key of ${JSON.stringify(keys)}) { if (round > 0) await unsetValue(home, key); await setValue(home, key, null); }
      }`;
    const run = async (keys: string[]) => {
      const child: ChildProcess = spawn(process.execPath, ["--input-type=module", "-e", script(keys)], { stdio: "inherit" });
      return (await once(child, "exit"))[0];
    };
    expect(await Promise.all([run(env(0)), run(env(1))])).toEqual([0, 0]);
    const text = await content();
    for (const name of names) expect(text.split(`  ${name.replace("terminal.", "")}: `)).toHaveLength(2);
    expect(text.startsWith("# head\nterminal:\n  timeout: 5 # five\n")).toBe(true);
    expect(text.endsWith("\n\n# tail\n")).toBe(true);
  });
});

describe("any valid value of any key", () => {
  const SHELLS = [
    (entry: string) => entry,
    (entry: string) => `# head\n\n${entry}\n# tail`,
    () => "terminal:\n  # comment\n  timeout: 180   # why\n\n\n# tail\n",
    () => "terminal: { timeout: 180 } # why\n# tail\n",
    () => "# head\r\nterminal:\r\n  timeout: 180\r\n# tail\r\n",
  ];

  test.each(CONFIG_KEYS.map((key) => [key.key, key] as const))("S47 %s: set, load, unset; comments survive", async (_, key) => {
    await fc.assert(
      fc.asyncProperty(valueFor(key), fc.constantFrom(...SHELLS), async (value, shell) => {
        const before = shell("");
        await yaml(before);
        await setValue(home, key.key, value);
        // A key without a value is not set.
        expect(await loadedValue(key.key)).toEqual(value ?? key.default);
        for (const comment of before.match(/# \w+/g) ?? []) expect(await content()).toContain(comment);
        await unsetValue(home, key.key);
        expect(await loadedValue(key.key)).toEqual(key.default);
      }),
      { numRuns: 8 },
    );
  });
});

function valueFor(key: ConfigKey): fc.Arbitrary<unknown> {
  const valid = (value: unknown) => {
    const reading = readOption(key.option, value);
    return reading.ok && reading.leftOut.length === 0;
  };
  return arbitraryFor(key).filter(valid);
}

function arbitraryFor({ kind, name, option }: ConfigKey): fc.Arbitrary<unknown> {
  const text = fc.string({
    unit: fc.oneof(fc.constantFrom(..."'\"#:{}[],&*!|>%@`\\ \n\t~-\u0085\u2028\uFEFFé😀"), fc.string({ minLength: 1, maxLength: 1 })),
  });
  const word = fc.constantFrom(
    "yes",
    "No",
    "on",
    "null",
    "~",
    "true",
    "0x1F",
    "1.10",
    "08",
    "-",
    "- a",
    "a: b",
    "a #b",
    "@x",
    "<<",
    "---",
    "",
  );
  const variable = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/);
  const place = fc.stringMatching(/^[^:\0]{1,8}$/);
  switch (kind) {
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.oneof(fc.integer({ min: 0, max: 70_000 }), fc.nat(2_147_483));
    case "number":
      return fc.double({ min: 0, max: 2_000_000, noNaN: true });
    case "enum":
      return fc.constantFrom(...option.choices);
    case "string":
      return name === "label_prefix" ? fc.stringMatching(/^[A-Za-z0-9]{1,5}[a-z.]{1,3}[0-9]$/) : fc.oneof(text, word);
    case "optional string":
      // An empty one is the same as none.
      return fc.option(fc.oneof(text, word)).map((value) => value || null);
    case "list":
      if (name === "docker_forward_env") return fc.array(variable);
      if (name === "docker_volumes") return fc.array(fc.tuple(place, place).map(([from, to]) => `${from}:/${to}`));
      return fc.array(fc.oneof(text, word));
    case "map":
      return fc.dictionary(fc.oneof(variable, fc.constant("__proto__")), fc.oneof(text, word), { noNullPrototype: true });
  }
}
