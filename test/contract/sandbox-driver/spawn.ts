/** @module Cases: starting a program, what it is given and how its end is told. */
import { expect } from "vitest";
import { collect, printed, start } from "../../helpers/collect.ts";
import type { Cases } from "./kit.ts";

const AWKWARD = [
  "two words",
  "",
  'it\'s "quoted"',
  "line\nbreak",
  "tab\t",
  "-n",
  "--",
  "*",
  "$HOME",
  "`id`",
  "\\",
  "é 漢 🙂",
  "a=b",
  "~",
  "!x",
  "\u001b[0m",
];

export const spawnCases: Cases = {
  "arguments arrive exactly as given": async ({ shared }) => {
    const { stdout } = await collect(await shared(), ["bash", "-c", 'printf "%s\\0" "$@"', ...["bash", ...AWKWARD]]);
    expect(stdout.toString().split("\0").slice(0, -1)).toEqual(AWKWARD);
  },

  "an environment is complete: nothing is inherited": async ({ shared }) => {
    const env = { PLAIN: "1", EMPTY: "", AWKWARD: AWKWARD.join("|"), "odd.name": "x" };
    const { stdout } = await collect(await shared(), ["/usr/bin/env", "-0"], { env });
    expect(withoutOwn(stdout)).toEqual(env);
  },

  "without an environment the program gets the sandbox's own": async ({ shared }) => {
    const { stdout } = await collect(await shared(), ["env", "-0"]);
    const env = withoutOwn(stdout);
    expect(env.PATH).toMatch(/^\//);
    expect(env.HOME).toMatch(/^\//);
  },

  "values of variables show in no argument list": async ({ shared }) => {
    const secret = `secret-${Math.random()}`;
    const script = "for file in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <\"$file\"; echo; done 2>/dev/null; echo \"$SECRET\" >&2";
    const { stdout, stderr } = await collect(await shared(), ["bash", "-c", script], { env: { SECRET: secret, PATH: "/usr/bin:/bin" } });
    expect(stderr.toString()).toBe(`${secret}\n`);
    expect(stdout.toString()).toContain("bash -c");
    expect(stdout.toString()).not.toContain(secret);
  },

  "the program begins in the directory asked for": async ({ shared }) => {
    const connection = await shared();
    const cwd = await printed(connection, 'directory="$(mktemp -d)/with space\nand line"; mkdir -- "$directory"; printf "%s" "$directory"');
    const { stdout } = await collect(connection, ["pwd"], { cwd });
    expect(stdout.toString()).toBe(`${cwd}\n`);
  },

  "a directory that is not there fails the start": async ({ shared }) => {
    await expect(collect(await shared(), ["true"], { cwd: "/not/there" })).rejects.toMatchObject({ code: "spawn-failed" });
  },

  "exit codes pass through": async ({ shared }) => {
    const connection = await shared();
    const codes = await Promise.all([0, 1, 2, 126, 127, 255].map((code) => collect(connection, ["bash", "-c", `exit ${code}`])));
    expect(codes.map(({ exitCode, signal }) => [exitCode, signal])).toEqual([0, 1, 2, 126, 127, 255].map((code) => [code, null]));
  },

  "death by a signal is 128 and its number, with its name": async ({ shared }) => {
    const connection = await shared();
    const deaths = await Promise.all(["TERM", "KILL", "SEGV"].map((name) => collect(connection, ["bash", "-c", `kill -${name} $$`])));
    expect(deaths.map(({ exitCode, signal }) => [exitCode, signal])).toEqual([
      [143, "SIGTERM"],
      [137, "SIGKILL"],
      [139, "SIGSEGV"],
    ]);
  },

  "a program that is not there fails the start": async ({ shared }) => {
    const connection = await shared();
    for (const program of ["holdfast-no-such-program", "/not/there", "/dev/null", ""]) {
      await expect(collect(connection, [program])).rejects.toMatchObject({ code: "spawn-failed" });
    }
    expect(await printed(connection, "echo still here")).toBe("still here");
  },

  "an argument list that is too long fails the start": async ({ shared }) => {
    await expect(collect(await shared(), ["true", "x".repeat(4_000_000)])).rejects.toMatchObject({ code: "spawn-failed" });
  },

  "the process id is the one inside": async ({ shared }) => {
    const { pid, stdout } = await collect(await shared(), ["bash", "-c", "echo $$"]);
    expect(stdout.toString()).toBe(`${pid}\n`);
  },

  "S38 programs run at the same time: two that wait for each other both end": async ({ shared }) => {
    const connection = await shared();
    const directory = await printed(connection, 'cd "$(mktemp -d)" && mkfifo there back && pwd');
    const [first, second] = await Promise.all([
      collect(connection, ["bash", "-c", 'echo ping >"$1/there"; cat "$1/back"', "bash", directory]),
      collect(connection, ["bash", "-c", 'cat "$1/there"; echo pong >"$1/back"', "bash", directory]),
    ]);
    expect([first.stdout.toString(), second.stdout.toString()]).toEqual(["pong\n", "ping\n"]);
  },

  "a program that was started tells its output before it ends": async ({ shared }) => {
    const connection = await shared();
    const directory = await printed(connection, 'cd "$(mktemp -d)" && mkfifo go && pwd');
    const running = await start(connection, 'echo begun; read -r word <"$1/go"; echo "$word"', directory);
    await running.untilPrinted("begun");
    await printed(connection, 'echo on >"$1/go"', directory);
    await running.untilPrinted("on");
    expect(await running.process.ended).toEqual({ exitCode: 0, signal: null });
  },
};

/** Variables by name, without those that Holdfast sets to recognise its processes. */
function withoutOwn(output: Buffer): Record<string, string> {
  const entries = output.toString().split("\0").filter(Boolean);
  const pairs = entries.map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)] as const);
  return Object.fromEntries(pairs.filter(([name]) => !name.startsWith("HOLDFAST_")));
}
