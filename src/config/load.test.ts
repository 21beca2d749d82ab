import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { HoldfastError } from "../base/errors.ts";
import { parseFlag } from "./flags.ts";
import { type LoadOptions, loadConfig } from "./load.ts";
import { CONFIG_KEYS } from "./schema.ts";

let home: string;
let configFile: string;
let envFile: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "holdfast-load-"));
  configFile = join(home, "config.yaml");
  envFile = join(home, ".env");
});
afterEach(() => rm(home, { recursive: true, force: true }));

const load = (options: Partial<LoadOptions> = {}) => loadConfig({ home, environment: {}, ...options });
const yaml = (text: string | Uint8Array) => writeFile(configFile, text);
const dotenv = (text: string | Uint8Array) => writeFile(envFile, text);

async function failure(options: Partial<LoadOptions> = {}): Promise<HoldfastError> {
  return load(options).then(
    () => expect.fail("it loaded"),
    (error) => error,
  );
}

describe("without any source", () => {
  test("every key has its default", async () => {
    const config = await load();
    for (const entry of config.entries()) {
      expect(entry).toMatchObject({ value: entry.key.default, raw: null, source: { kind: "default" }, shadowed: [] });
    }
    expect(config.entries().map(({ key }) => key)).toEqual(CONFIG_KEYS);
    expect(config.values.terminal.timeout).toBe(180);
    expect(config).toMatchObject({ warnings: [], dotenv: {}, files: { config: configFile, env: envFile } });
  });

  test("a home that does not exist is fine", async () => {
    expect((await load({ home: join(home, "none") })).values.terminal.backend).toBe("local");
  });

  test.each([
    "",
    "\n",
    "# nothing but a comment\n",
    "---\n",
    "terminal:\n",
    "terminal: {}\n",
    "terminal:\n  # timeout: 5\n",
    "\uFEFFterminal:\n",
  ])("an empty config.yaml is fine: %j", async (text) => {
    await yaml(text);
    expect((await load()).values.terminal.timeout).toBe(180);
  });

  test("nothing that was loaded can be changed", async () => {
    await yaml("terminal: { docker_env: { A: b }, docker_volumes: ['/a:/b'] }");
    const { values } = await load();
    for (const value of [values, values.terminal, values.terminal.docker_env, values.terminal.docker_volumes]) {
      expect(Object.isFrozen(value)).toBe(true);
    }
  });
});

describe("where a value comes from", () => {
  test("each source is remembered, with what it hides", async () => {
    await yaml("# c\nterminal:\n  timeout: 4 # four\n");
    await dotenv("\nTERMINAL_TIMEOUT=3\n");
    const config = await load({ environment: { TERMINAL_TIMEOUT: "2" }, flags: [parseFlag("-c", "terminal.timeout=1")] });
    expect(config.values.terminal.timeout).toBe(1);
    expect(config.explain("terminal.timeout")).toMatchObject({
      value: 1,
      raw: "1",
      source: { kind: "flag", name: "-c" },
      shadowed: [
        { value: 2, raw: "2", source: { kind: "environment", variable: "TERMINAL_TIMEOUT" } },
        { value: 3, raw: "3", source: { kind: "dotenv", variable: "TERMINAL_TIMEOUT", file: envFile, line: 2 } },
        { value: 4, raw: "4", source: { kind: "file", file: configFile, line: 3 } },
        { value: 180, raw: null, source: { kind: "default" } },
      ],
    });
  });

  test("of several flags or .env lines for a key the last one counts", async () => {
    await dotenv("TERMINAL_CWD=/one\nTERMINAL_CWD=/two\n");
    const flags = [
      { name: "-c", key: "terminal.timeout", value: "1" },
      { name: "--timeout", key: "terminal.timeout", value: 2 },
    ];
    const config = await load({ flags });
    expect(config.explain("terminal.timeout")).toMatchObject({
      value: 2,
      source: { name: "--timeout" },
      shadowed: [{ value: 1 }, { value: 180 }],
    });
    expect(config.explain("terminal.cwd")).toMatchObject({
      value: "/two",
      source: { line: 2 },
      shadowed: [{ value: "/one" }, { value: null }],
    });
    expect(config.warnings).toEqual([`TERMINAL_CWD is set more than once in ${envFile} (lines 1, 2); the last one counts`]);
  });

  test("S48 an empty variable is not set", async () => {
    await yaml("terminal:\n  cwd: /work\n");
    await dotenv("TERMINAL_TIMEOUT=\nTERMINAL_CWD=''\n");
    const { values, warnings } = await load({ environment: { TERMINAL_CWD: "", TERMINAL_DOCKER_VOLUMES: "", TERMINAL_TIMOUT: "" } });
    expect(values.terminal).toMatchObject({ cwd: "/work", timeout: 180, docker_volumes: [] });
    expect(warnings).toEqual([]);
  });

  test("explain knows only keys", async () => {
    const config = await load();
    expect(() => config.explain("terminal.timout")).toThrow(expect.objectContaining({ code: "config-unknown-key" }));
  });

  test("everything in .env is handed on, secrets included", async () => {
    await dotenv("OPENAI_API_KEY='sk-1'\nTERMINAL_TIMEOUT=9\n");
    expect((await load()).dotenv).toEqual({ OPENAI_API_KEY: "sk-1", TERMINAL_TIMEOUT: "9" });
  });
});

describe("values in config.yaml", () => {
  test.each([
    ["timeout: 90.5", "timeout", 90.5],
    ['timeout: "90"', "timeout", 90],
    ["timeout: 1e2", "timeout", 100],
    ["docker_network: no", "docker_network", false],
    ["docker_network: 'Yes'", "docker_network", true],
    ["docker_network: 0", "docker_network", false],
    ["ssh_user: 0123", "ssh_user", "0123"],
    ["ssh_user: true", "ssh_user", "true"],
    ["cwd: null", "cwd", null],
    ["cwd:", "cwd", null],
    ["docker_volumes:", "docker_volumes", []],
    ["docker_env:\n    # A: b", "docker_env", {}],
    ["docker_volumes:\n    - /a:/b\n    - /c:/d:ro", "docker_volumes", ["/a:/b", "/c:/d:ro"]],
    ["docker_volumes: '[\"/a:/b\"]'", "docker_volumes", ["/a:/b"]],
    ["docker_image: |-\n    debian:sid", "docker_image", "debian:sid"],
  ])("%s", async (line, name, value) => {
    await yaml(`terminal:\n  ${line}\n`);
    expect((await load()).explain(`terminal.${name}`).value).toEqual(value);
  });

  test("S10 scalars in docker_env become strings as they were written; the rest is left out with a warning each", async () => {
    await yaml("terminal:\n  docker_env: { V: 1.10, B: true, S: x, Z: 08, B-AD: 1, L: [1], N: }\n");
    const config = await load();
    expect(config.values.terminal.docker_env).toEqual({ V: "1.10", B: "true", S: "x", Z: "08" });
    expect(config.warnings).toEqual([
      `terminal.docker_env: "B-AD" is not a valid name, so that entry is left out (${configFile} line 2)`,
      `terminal.docker_env: the value of L is a list, not a string, number or boolean, so that entry is left out (${configFile} line 2)`,
      `terminal.docker_env: the value of N is nothing, not a string, number or boolean, so that entry is left out (${configFile} line 2)`,
    ]);
  });

  test("anchors and aliases are resolved", async () => {
    await yaml("terminal:\n  timeout: &t 7\n  lifetime_seconds: *t\n  docker_env: { A: *t }\n");
    expect((await load()).values.terminal).toMatchObject({ timeout: 7, lifetime_seconds: 7, docker_env: { A: "7" } });
  });
});

describe("S46 bad input is an error that names the place", () => {
  test.each([
    ["environment", { environment: { TERMINAL_TIMEOUT: "soon" } }, "environment variable TERMINAL_TIMEOUT"],
    ["flag", { flags: [parseFlag("-c", "terminal.timeout=soon")] }, "flag -c"],
  ])("a bad value in the %s", async (_, options, place) => {
    expect(await failure(options)).toMatchObject({
      code: "config-bad-value",
      message: `terminal.timeout must be a number above 0 and at most 2147483, not "soon" (${place})`,
    });
  });

  test("a bad value in .env", async () => {
    await dotenv("A=1\nTERMINAL_DOCKER_NETWORK=maybe\n");
    expect(await failure()).toMatchObject({
      code: "config-bad-value",
      message: `terminal.docker_network must be true or false, not "maybe" (TERMINAL_DOCKER_NETWORK in ${envFile} line 2)`,
    });
  });

  test("S8 a malformed volume is named", async () => {
    await yaml("terminal:\n  docker_volumes:\n    - /a:/b\n    - nonsense\n");
    expect((await failure()).message).toContain('not one whose entry 2 is "nonsense"');
  });

  test("a list in a variable that is not JSON: what it says stays secret", async () => {
    const error = await failure({ environment: { TERMINAL_DOCKER_ENV: "TOKEN=sk-secret" } });
    expect(error.message).toBe(
      "terminal.docker_env must be a map of names to strings, not plain text (environment variable TERMINAL_DOCKER_ENV)",
    );
    expect(error.hint).toContain("JSON");
    expect(JSON.stringify(error)).not.toContain("secret");
  });

  test("S8 a list that is plain text is told how to write one", async () => {
    await yaml("terminal:\n  docker_volumes: x\n");
    expect(await failure()).toMatchObject({
      message: `terminal.docker_volumes must be a list of host:container or host:container:ro, the container's part absolute, not plain text (${configFile} line 2)`,
      hint: 'write it as ["a", "b"], which is JSON',
    });
  });

  test("a file that is too large says what to take out of it", async () => {
    await yaml("# long\n".repeat(150_000));
    expect(await failure()).toMatchObject({
      code: "config-unreadable",
      message: `cannot read ${configFile}: it is larger than 1 MB`,
      hint: "take out of it what is no configuration",
    });
  });

  test("a backend of which there is no driver", async () => {
    await yaml("terminal:\n  backend: ssh\n");
    expect(await failure()).toMatchObject({
      code: "config-bad-value",
      message: `terminal.backend must be one of docker, local, memory, not "ssh" (${configFile} line 2)`,
      hint: expect.stringContaining("no ssh driver"),
    });
  });

  test.each([
    ["terminal:\n  timout: 5\n", "terminal.timout", 2, "terminal.timeout"],
    ["timeout: 5\n", "timeout", 1, "terminal.timeout"],
    ["terminal:\n  cwd: /x\n\ntermnal:\n  a: 1\n", "termnal", 4, "terminal:"],
    ["TERMINAL_TIMEOUT: 5\n", "TERMINAL_TIMEOUT", 1, "terminal.timeout"],
    ["terminal:\n  nothing_like_it:\n    deep: 1\n", "terminal.nothing_like_it", 2, undefined],
    ["terminal:\n  __proto__: {}\n", "terminal.__proto__", 2, undefined],
    ["terminal:\n  1: x\n", "terminal.1", 2, undefined],
  ])("an unknown key: %j", async (text, key, line, meant) => {
    await yaml(text);
    const error = await failure();
    expect(error).toMatchObject({
      code: "config-unknown-key",
      message: `there is no configuration key "${key}" (${configFile} line ${line})`,
    });
    if (meant === undefined) expect(error.hint).not.toContain("did you mean");
    else expect(error.hint).toContain(`did you mean "${meant}"`);
  });

  test("an unknown key in a flag", async () => {
    expect(await failure({ flags: [parseFlag("-c", "terminal.backnd=local")] })).toMatchObject({
      code: "config-unknown-key",
      message: 'there is no configuration key "terminal.backnd" (flag -c)',
      hint: expect.stringContaining('"terminal.backend"'),
    });
  });

  test.each([
    ["a tab", "terminal:\n\ttimeout: 5\n", "a tab is used as indentation", 2],
    ["not YAML", "terminal: [1\nb: }\n", "this is not YAML", 2],
    ["not YAML either", "terminal:\n  timeout: 5\n bad: 1\n", "this is not YAML", 3],
    ["an unclosed quote", "terminal:\n  cwd: 'x\n", "this is not YAML", 3],
    ["a key twice", "terminal:\n  timeout: 5\n  cwd: /x\n  timeout: 6\n", 'the key "timeout" is there twice', 4],
    ["a section twice", "terminal:\n  timeout: 5\nterminal:\n  cwd: x\n", 'the key "terminal" is there twice', 3],
    ["a list as a key", "terminal:\n  ? [a]\n  : 1\n", "a list or map stands in the place of a key", 2],
    ["two documents", "terminal:\n---\nterminal:\n", "the file holds more than one YAML document", 2],
    ["a tag nobody knows", "terminal:\n  cwd: !secret x\n", "this is not YAML", 2],
    ["an alias without anchor", "terminal:\n  cwd: *x\n", "cwd cannot be resolved", 2],
    ["a section that is an alias without anchor", "\nterminal: *nope\n", "terminal cannot be resolved", 2],
    ["a file that is an alias without anchor", "*nope\n", "the file cannot be resolved", 1],
    ["a very long key", `terminal:\n  ${"k".repeat(2000)}: 1\n`, "a key is longer than 1024 characters", 2],
  ])("%s", async (_, text, message, line) => {
    await yaml(text);
    const error = await failure();
    expect(error.code).toBe("config-syntax");
    expect(error.message).toContain(message);
    expect(error.message).toContain(`(${configFile} line ${line})`);
  });

  test.each([
    ["a list", "- terminal\n", "the file must be a map of keys to values, not a list", 1],
    ["a word", "hello\n", "the file must be a map of keys to values, not a single value", 1],
    ["a section with a value", "\nterminal: 5\n", "terminal must be a map of keys to values, not a single value", 2],
    ["a section with a list", "terminal:\n  - timeout\n", "terminal must be a map of keys to values, not a list", 2],
  ])("%s in place of a map", async (_, text, message, line) => {
    await yaml(text);
    expect(await failure()).toMatchObject({ code: "config-bad-value", message: `${message} (${configFile} line ${line})` });
  });

  test.each([
    ["timeout: ''", '""'],
    ["timeout: []", "a list"],
    ["timeout: { a: 1 }", "a map"],
    ["timeout: .inf", "Infinity"],
    ["timeout: -5", "-5"],
    ["docker_env: 5", "5"],
    ["docker_env: [a]", "a list"],
    ["docker_volumes: { a: b }", "a map"],
    ["docker_image: [x]", "a list"],
    ['cwd: "a\\0b"', '"a\\u0000b"'],
  ])("%s", async (line, found) => {
    await yaml(`terminal:\n  ${line}\n`);
    const error = await failure();
    expect(error).toMatchObject({ code: "config-bad-value" });
    expect(error.message).toContain(`not ${found} (${configFile} line 2)`);
  });

  test("aliases that would fill the memory", async () => {
    const levels = Array.from({ length: 9 }, (_, i) => `    - &l${i + 1} [${Array(9).fill(`*l${i}`).join(", ")}]`);
    await yaml(`terminal:\n  docker_volumes:\n    - &l0 [x]\n${levels.join("\n")}\n`);
    expect(await failure()).toMatchObject({ code: "config-syntax" });
  });

  test.each([
    'terminal:\n  docker_env: { TOKEN: "sk-secret" } "sk-secret"\n',
    "terminal:\n  docker_env: { TOKEN: sk-secret\n",
    "terminal:\n  docker_env: {}\n} sk-secret\n",
    "terminal:\n  cwd: |sk-secret\n",
    "terminal:\n  cwd: !sk-secret x\n",
    "terminal:\n\tcwd: sk-secret\n",
  ])("parser messages do not repeat what is in the file: %j", async (text) => {
    await yaml(text);
    const error = await failure();
    expect(error.code).toBe("config-syntax");
    expect(JSON.stringify(error)).not.toContain("secret");
  });

  test(".env with broken quoting: the line, never the text", async () => {
    await dotenv('GOOD=1\nOPENAI_API_KEY="sk-secret\nOTHER=2\n');
    const error = await failure();
    expect(error).toMatchObject({ code: "config-syntax", message: `the closing " is missing (${envFile} line 2)` });
    expect(JSON.stringify(error)).not.toContain("secret");
  });

  test("all problems of all sources come in one error", async () => {
    await yaml("terminal:\n  timeout: soon\n  cdw: /x\n  ssh_port: 0\n");
    await dotenv("TERMINAL_CONTAINER_CPU=many\n");
    const error = await failure({ environment: { TERMINAL_BACKEND: "locl" } });
    expect(error.message).toBe(
      'terminal.backend must be one of docker, local, memory, not "locl" (environment variable TERMINAL_BACKEND), and 4 more problems',
    );
    expect(error.facts.problems).toMatchObject([
      {
        code: "config-bad-value",
        key: "terminal.backend",
        kind: "environment",
        variable: "TERMINAL_BACKEND",
        hint: 'did you mean "local"?',
      },
      { code: "config-bad-value", key: "terminal.container_cpu", kind: "dotenv", file: envFile, line: 1 },
      { code: "config-bad-value", key: "terminal.timeout", kind: "file", file: configFile, line: 2 },
      { code: "config-unknown-key", key: "terminal.cdw", kind: "file", file: configFile, line: 3 },
      { code: "config-bad-value", key: "terminal.ssh_port", kind: "file", file: configFile, line: 4 },
    ]);
  });

  test("a bad value is an error also where another source hides it", async () => {
    await yaml("terminal:\n  timeout: soon\n");
    expect(await failure({ environment: { TERMINAL_TIMEOUT: "5" } })).toMatchObject({ code: "config-bad-value" });
  });
});

describe("files that cannot be read", () => {
  test.each([
    ["config.yaml", () => configFile],
    [".env", () => envFile],
  ])("%s is a directory, a link to nothing, a circle, not UTF-8", async (_, path) => {
    await mkdir(path());
    expect(await failure()).toMatchObject({ code: "config-unreadable", message: `cannot read ${path()}: it is a directory` });
    await rm(path(), { recursive: true });

    await symlink(join(home, "nothing"), path());
    expect(await failure()).toMatchObject({
      code: "config-unreadable",
      message: `cannot read ${path()}: it is a link to a file that does not exist`,
    });
    await rm(path());

    await symlink(path(), path());
    expect(await failure()).toMatchObject({ code: "config-unreadable", message: `cannot read ${path()}: its links lead in a circle` });
    await rm(path());

    await symlink("/dev/zero", path());
    expect(await failure()).toMatchObject({ code: "config-unreadable", message: `cannot read ${path()}: it is not a regular file` });
    await rm(path());

    await writeFile(path(), new Uint8Array([0x41, 0x3d, 0xff, 0xfe]));
    expect(await failure()).toMatchObject({ code: "config-syntax", message: `${path()} is not UTF-8 text` });
  });

  test("permission denied", async () => {
    await yaml("terminal:\n");
    await chmod(home, 0o755);
    await chmod(configFile, 0o000);
    const error = await asNobody(() => failure());
    expect(error).toMatchObject({ code: "config-unreadable", message: `cannot read ${configFile}: permission denied` });
  });

  test("a home that is a file", async () => {
    await yaml("terminal:\n");
    expect(await failure({ home: configFile })).toMatchObject({
      code: "config-unreadable",
      message: expect.stringContaining("not a directory"),
    });
  });
});

describe("variables that look like ours", () => {
  test("a near miss gets a warning, in the environment as in .env", async () => {
    await dotenv("X=1\nTERMINAL_DOCKER_IMGE=x\n");
    const config = await load({ environment: { TERMINAL_TIMOUT: "5", TERMINAL_BACKEDN: "local" } });
    expect(config.warnings).toEqual([
      "environment variable TERMINAL_TIMOUT is not known to Holdfast; did you mean TERMINAL_TIMEOUT?",
      "environment variable TERMINAL_BACKEDN is not known to Holdfast; did you mean TERMINAL_BACKEND?",
      `TERMINAL_DOCKER_IMGE in ${envFile} line 2 is not known to Holdfast; did you mean TERMINAL_DOCKER_IMAGE?`,
    ]);
    expect(config.values.terminal.timeout).toBe(180);
  });

  test("the names of other programs are left alone", async () => {
    const environment = { TERMINAL_EMULATOR: "JetBrains-JediTerm", TERMINAL_: "x", TERMINALS: "y", TERM: "xterm" };
    expect((await load({ environment })).warnings).toEqual([]);
  });
});

describe("what loading costs", () => {
  test("the YAML parser is loaded only when there is a config.yaml", async () => {
    expect(await packagesLoaded()).toEqual(["zod/mini"]);
    await yaml("terminal:\n");
    expect(await packagesLoaded()).toEqual(["zod/mini", "yaml"]);
  });
});

describe("parseFlag", () => {
  test("splits at the first =", () => {
    expect(parseFlag("-c", "terminal.cwd=/a=b")).toEqual({ name: "-c", key: "terminal.cwd", value: "/a=b" });
    expect(parseFlag("-c", "terminal.cwd=")).toEqual({ name: "-c", key: "terminal.cwd", value: "" });
  });

  test.each(["", "=", "=x", "terminal.cwd"])("%j is not KEY=VALUE", (text) => {
    expect(() => parseFlag("-c", text)).toThrow(expect.objectContaining({ code: "usage" }));
  });
});

/** The packages that a fresh process loads for `loadConfig`, and `node:sqlite` if it does. */
async function packagesLoaded(): Promise<string[]> {
  const script = `
    import { registerHooks } from "node:module";
    const seen = new Set();
    registerHooks({ resolve(name, context, next) {
      if (!context.parentURL?.includes("node_modules") && (/^[a-z]/.test(name) && !/^(node|file):/.test(name) || name === "node:sqlite")) seen.add(name);
      return next(name, context);
    } });
    const { loadConfig } = await import(${JSON.stringify(new URL("./load.ts", import.meta.url).href)});
    await loadConfig({ home: ${JSON.stringify(home)}, environment: {} });
    console.log(JSON.stringify([...seen]));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  return JSON.parse(stdout);
}

/** Root may read everything, so it has to be somebody else for a moment. */
async function asNobody<T>(action: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return action();
  process.seteuid?.(65534);
  try {
    return await action();
  } finally {
    process.seteuid?.(0);
  }
}
