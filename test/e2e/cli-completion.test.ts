import { execFileSync } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestCli, PROGRAM, type RunningCli, type TestCli } from "../helpers/cli.ts";
import { describeIf } from "../helpers/requirements.ts";

let cli: TestCli;
let env: Record<string, string>;
beforeAll(async () => {
  cli = await createTestCli();
  const bin = join(cli.directory, "bin");
  await mkdir(bin);
  await writeProgram(join(bin, "holdfast"), cli.home);
  // Another program of the same name, which knows other things: the one that was typed must answer.
  const otherHome = join(cli.directory, "other home");
  await writeProgram(join(cli.directory, "holdfast"), otherHome);
  await cli.run(["exec", "-t", "elsewhere", "true"], { env: { HOLDFAST_HOME: otherHome } });
  env = { PATH: `${bin}:${cli.env.PATH}`, TERM: "dumb" };
  await cli.run(["profile", "create", "reviewer"]);
  await cli.run(["exec", "-t", "build", "-s", "release", "true"]);
  await cli.run(["exec", "-t", "two words", "true"]);
  await mkdir(join(cli.directory, "some directory"));
  for (const shell of ["bash", "zsh", "fish"]) {
    const { stdout } = await cli.run(["completion", shell]);
    await writeFile(join(cli.directory, `completion.${shell}`), stdout);
  }
});
afterAll(() => cli[Symbol.asyncDispose]());

async function writeProgram(path: string, home: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\nHOLDFAST_HOME='${home}' exec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  await chmod(path, 0o755);
}

/** What is typed, and the words of the line after the Tab key. */
const LINES: [typed: string, words: string[]][] = [
  ["holdfast sandb", ["holdfast", "sandbox"]],
  ["./holdfast sandbox ins", ["./holdfast", "sandbox", "inspect"]],
  ["./holdfast exec -t else", ["./holdfast", "exec", "-t", "elsewhere"]],
  ["holdfast exec --ti", ["holdfast", "exec", "--timeout"]],
  ["holdfast exec -t bui", ["holdfast", "exec", "-t", "build"]],
  ["holdfast exec -t two", ["holdfast", "exec", "-t", "two words"]],
  ["holdfast exec -t build -s rel", ["holdfast", "exec", "-t", "build", "-s", "release"]],
  ["holdfast exec --profile=rev", ["holdfast", "exec", "--profile=reviewer"]],
  ["holdfast -c terminal.backe", ["holdfast", "-c", "terminal.backend="]],
  // Nothing stands between the key and the value that is typed next.
  ["holdfast -c terminal.container_limi\tst", ["holdfast", "-c", "terminal.container_limits=strict"]],
  ["holdfast -c terminal.container_limits=st", ["holdfast", "-c", "terminal.container_limits=strict"]],
  ["holdfast config set terminal.docker_run_as_host_user t", ["holdfast", "config", "set", "terminal.docker_run_as_host_user", "true"]],
  ["holdfast completion fi", ["holdfast", "completion", "fish"]],
  ["holdfast exec --cwd some", ["holdfast", "exec", "--cwd", "some directory/"]],
  ["holdfast exec --cwd=some", ["holdfast", "exec", "--cwd=some directory/"]],
  ["holdfast exec -- mkfif", ["holdfast", "exec", "--", "mkfifo"]],
  ["holdfast cp completion.b", ["holdfast", "cp", "completion.bash"]],
  ["holdfast cp build: some", ["holdfast", "cp", "build:", "some directory/"]],
  ["holdfast exec cat completion.b", ["holdfast", "exec", "cat", "completion.bash"]],
];

describeIf("script", "in bash", () => {
  linesInTerminal("bash", ["--noprofile", "--norc", "-i"], "source ./completion.bash");
});

describe("in bash, called as bash would", () => {
  const replies = async (settings: string) => {
    const script = `source ./completion.bash; ${settings}; _holdfast; printf '%s\n' "\${COMPREPLY[@]}"`;
    return (await cli.runProcess([script], { program: ["bash", "--noprofile", "--norc", "-c"], env })).stdout.trimEnd();
  };

  test("what stands behind the cursor does not count", async () => {
    expect(await replies("COMP_WORDS=(holdfast sandxyz ls) COMP_CWORD=1 COMP_LINE='holdfast sandxyz ls' COMP_POINT=13")).toBe("sandbox");
  });

  test("an installed bash-completion is left to complete the command", async () => {
    const words = "COMP_WORDS=(holdfast exec --task = build -- git com) COMP_CWORD=7";
    const line = "COMP_LINE='holdfast exec --task=build -- git com' COMP_POINT=37";
    expect(await replies(`_command_offset() { COMPREPLY=("offset $1"); }; ${words} ${line}`)).toBe("offset 6");
  });
});

describeIf(["zsh", "script"], "in zsh", () => {
  const load = "autoload -U compinit; compinit -u -D; PS1='$ '";

  linesInTerminal("zsh", ["-f", "-i"], `${load}; source ./completion.zsh`);

  test("what fits is listed with what it means, also when the script is autoloaded", async () => {
    await mkdir(join(cli.directory, "functions"));
    await writeFile(join(cli.directory, "functions/_holdfast"), (await cli.run(["completion", "zsh"])).stdout);
    await using terminal = await openTerminal("zsh", ["-f", "-i"], `fpath=($PWD/functions $fpath); ${load}`);
    expect(await terminal.complete("holdfast sandbox ")).toMatch(/inspect +-- show one sandbox/);
  });
});

describeIf("fish", "in fish", () => {
  const offered = (line: string) => {
    const text = execFileSync("fish", ["--no-config", "-c", "source ./completion.fish; complete -C $argv[1]", line], {
      cwd: cli.directory,
      env: { ...cli.env, ...env },
      encoding: "utf8",
    });
    return text.trimEnd().split("\n");
  };

  test.each(LINES.filter(([typed]) => !typed.includes("\t")))("%s", (typed, words) => {
    const [candidate = ""] = offered(typed);
    expect(candidate.split("\t")[0]).toBe(words.at(-1));
  });

  test("what fits is listed with what it means", () => {
    expect(offered("holdfast sandbox ")).toContain("inspect\tshow one sandbox");
    expect(offered("holdfast exec -t ")).toContain("build\tlocal, running");
  });
});

/** All lines in one interactive shell on a terminal of its own. */
function linesInTerminal(shell: string, args: string[], setup: string): void {
  let terminal: Awaited<ReturnType<typeof openTerminal>>;
  beforeAll(async () => {
    terminal = await openTerminal(shell, args, setup);
  });
  afterAll(() => terminal[Symbol.asyncDispose]());
  // A shell shows a directory with its slash, but may take it back when the line goes on.
  const plain = (words: string[]) => words.map((word) => word.replace(/\/$/, ""));

  test.each(LINES)("%j", async (typed, words) => {
    expect(plain(wordsIn(await terminal.complete(typed)))).toEqual(plain(words));
  });
}

function wordsIn(text: string): string[] {
  const [line = ""] = /\[(?:\.\/)?holdfast\].*\[END\]/.exec(text) ?? [];
  return line.slice(1, -"][END]".length).split("][");
}

async function openTerminal(shell: string, args: string[], setup: string) {
  const running: RunningCli = cli.start(["-qfc", [shell, ...args].join(" "), "/dev/null"], { program: ["script"], env });
  let from = 0;
  const type = async (keys: string, until: string) => {
    running.child.stdin?.write(keys);
    const text = await running.untilPrinted(`${until}${from}`);
    from++;
    return text;
  };
  const show = `show() { printf '[%s]' "$@"; echo; }`;
  await type(`${show}; ${setup}; echo rea'dy'0\n`, "ready");
  return {
    /** Types the text and the Tab key, then has the shell print the words that stand there, and returns all that was shown meanwhile. */
    async complete(typed: string): Promise<string> {
      const text = await type(`${typed}\t\u0001show \u0005 END\necho rea'dy'${from}\n`, "ready");
      return text.slice(text.lastIndexOf(`ready${from - 2}`));
    },
    async [Symbol.asyncDispose]() {
      running.child.kill("SIGKILL");
      await running.ended;
    },
  };
}
