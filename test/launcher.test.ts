import { execFileSync, spawn } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const ROOT = dirname(import.meta.dirname);
const VERSION = `${JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version}\n`;

/** Copies stdin to stdout, prints its arguments, and ends with 7. */
const ECHO_PROGRAM = `
import { writeSync } from "node:fs";
export async function runProgram(args: readonly string[]): Promise<number> {
  for await (const chunk of process.stdin) writeSync(1, chunk);
  writeSync(2, JSON.stringify(args) + "\\n");
  return 7;
}
`;

const scratch = mkdtempSync(join(tmpdir(), "holdfast-launcher-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

// What a newcomer has: the machine's own node, an empty home, nothing in npm's cache. The registry is the one this machine uses.
const newcomer = {
  ...process.env,
  HOME: join(scratch, "home"),
  PATH: (process.env.PATH ?? "")
    .split(delimiter)
    .filter((directory) => !directory.includes("node_modules"))
    .join(delimiter),
  npm_config_cache: join(scratch, "npm-cache"),
  npm_config_userconfig: join(homedir(), ".npmrc"),
  // Some machines set this, and npm then leaves out the development packages.
  NODE_ENV: "production",
};

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(
  program: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; input?: string } = {},
): Promise<Outcome> {
  const { cwd = scratch, env = newcomer, input = "" } = options;
  const child = spawn(program, args, { cwd, env });
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve));
  const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { status, stdout, stderr };
}

/** The working tree as a clone would have it: no dependencies, no build. */
function makeClone(name: string): string {
  const clone = join(scratch, name);
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: ROOT, encoding: "utf8" });
  for (const path of listed.split("\0").filter((listedPath) => listedPath !== "" && existsSync(join(ROOT, listedPath)))) {
    cpSync(join(ROOT, path), join(clone, path), { preserveTimestamps: true });
  }
  return clone;
}

describe("the launcher", () => {
  const clone = join(scratch, "clone");
  const launcher = join(clone, "holdfast");
  let firstUses: Outcome[];

  beforeAll(async () => {
    makeClone("clone");
    mkdirSync(newcomer.HOME);
    firstUses = await Promise.all([run(launcher, ["--version"], { cwd: clone }), run(launcher, ["--version"], { cwd: clone })]);
  }, 240_000);

  test("sets itself up on first use, with progress on stderr and only the answer on stdout", () => {
    for (const { status, stdout, stderr } of firstUses) expect({ status, stdout, stderr }).toMatchObject({ status: 0, stdout: VERSION });
    const progress = firstUses.map(({ stderr }) => stderr).find((stderr) => stderr.includes("installing"));
    expect(progress?.trim().split("\n")).toEqual([expect.stringContaining("installing dependencies"), "holdfast: building"]);
  });

  test("lets the second of two first uses wait for the first", () => {
    const waiting = firstUses.filter(({ stderr }) => !stderr.includes("installing"));
    expect(waiting.map(({ stderr }) => stderr)).toEqual(["holdfast: waiting for another process that is setting up this clone\n"]);
  });

  test("leaves nothing in the user's home", () => {
    expect(execFileSync("ls", ["-A", newcomer.HOME], { encoding: "utf8" })).toBe("");
  });

  test("starts at once the next time, without npm or another node, from any directory", async () => {
    const env = { ...newcomer, PATH: pathWithout("node", "npm") };
    expect(await run(launcher, ["--version"], { cwd: "/", env })).toEqual({ status: 0, stdout: VERSION, stderr: "" });
    expect(await run("../clone/holdfast", ["--version"], { cwd: newcomer.HOME, env })).toEqual({ status: 0, stdout: VERSION, stderr: "" });
  });

  test("works through links, relative and absolute, and when sh is given its name", async () => {
    const bin = join(scratch, "bin");
    mkdirSync(bin);
    symlinkSync("../clone/holdfast", join(bin, "relative"));
    symlinkSync(join(bin, "relative"), join(bin, "holdfast"));
    const env = { ...newcomer, PATH: `${bin}${delimiter}${newcomer.PATH}` };
    expect(await run("holdfast", ["--version"], { env })).toEqual({ status: 0, stdout: VERSION, stderr: "" });
    expect(await run("sh", ["holdfast", "--version"], { cwd: clone })).toEqual({ status: 0, stdout: VERSION, stderr: "" });
  });

  test("builds again after a change of the sources, and hands arguments, stdin and exit status through", async () => {
    writeFileSync(join(clone, "src/cli/run-program.ts"), ECHO_PROGRAM);
    const changed = await run(launcher, ["a b", "", "--", "$x"], { input: "raw\0bytes" });
    expect(changed).toEqual({ status: 7, stdout: "raw\0bytes", stderr: 'holdfast: building\n["a b","","--","$x"]\n' });
    expect((await run(launcher, [])).stderr).toBe("[]\n");
  });

  test("shows what the compiler says when the sources are broken, and keeps the last build", async () => {
    writeFileSync(join(clone, "src/cli/run-program.ts"), "this is not a program");
    const broken = await run(launcher, ["--version"]);
    expect(broken).toMatchObject({ status: 125, stdout: "" });
    expect(broken.stderr).toMatch(/src\/cli\/run-program\.ts[\s\S]*\nholdfast: the build failed\nhint: .+\n$/);
    expect(existsSync(join(clone, "dist/holdfast.js"))).toBe(true);
  });
});

describe("a launcher that cannot set itself up", () => {
  let launcher: string;
  beforeAll(() => {
    launcher = join(makeClone("bare-clone"), "holdfast");
  });

  const refuse = async (PATH: string) => {
    const outcome = await run(launcher, ["--version"], { env: { ...newcomer, PATH } });
    expect(outcome).toMatchObject({ status: 125, stdout: "" });
    return outcome.stderr;
  };

  test("says that npm is missing", async () => {
    expect(await refuse(pathWithout("npm"))).toMatch(/^holdfast: npm is not installed, .*\nhint: .*\n$/);
  });

  test("says that node is missing", async () => {
    expect(await refuse(pathWithout("node"))).toMatch(/^holdfast: node is not installed, .*\nhint: .*\n$/);
  });

  test("says that node is too old", async () => {
    const path = pathWith({ node: "echo 16", npm: "exit 1" });
    expect(await refuse(path)).toMatch(/^holdfast: node on the PATH is version 16, .*\nhint: .*\n$/);
  });

  test("shows what npm said when it fails", async () => {
    const path = pathWith({ node: "echo 18", npm: "echo from npm; exit 1" });
    expect(await refuse(path)).toMatch(
      /installing dependencies.*\nfrom npm\nholdfast: npm could not install the dependencies\nhint: .*\n$/,
    );
  });

  test("says what to remove when an earlier set-up without flock was killed", async () => {
    const lock = join(dirname(launcher), ".cache/setup.lock.d");
    mkdirSync(lock, { recursive: true });
    // Above the highest number that Linux gives to a process.
    writeFileSync(join(lock, "pid"), "4194305\n");
    expect(await refuse(pathWithout("flock"))).toContain(`hint: remove ${lock} `);
  });
});

/** A PATH with the few programs that the launcher uses, but those. */
function pathWithout(...missing: string[]): string {
  const programs = ["sh", "cat", "dirname", "find", "flock", "id", "mkdir", "node", "npm", "readlink", "rm", "sleep"];
  const directory = mkdtempSync(join(scratch, "path-"));
  for (const name of programs.filter((program) => !missing.includes(program))) symlinkSync(which(name), join(directory, name));
  return directory;
}

/** The usual PATH with stand-ins before it. */
function pathWith(scripts: Record<string, string>): string {
  const directory = mkdtempSync(join(scratch, "path-"));
  for (const [name, body] of Object.entries(scripts)) {
    writeFileSync(join(directory, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(directory, name), 0o755);
  }
  return `${directory}${delimiter}${newcomer.PATH}`;
}

function which(program: string): string {
  return execFileSync("sh", ["-c", 'command -v "$1"', "sh", program], { encoding: "utf8", env: newcomer }).trim();
}
