/** @module Cases: a command may turn the shell inside out; nothing of Holdfast shows, and the session goes on. */
import { expect } from "vitest";
import type { Cases } from "./kit.ts";

export const shellModeCases: Cases = {
  "set -x traces the command and nothing else": async ({ shell }) => {
    const { run } = await shell();
    expect((await run("set -x; echo hi")).stderr).toBe("++ echo hi\n");
    expect((await run("set -x; trap 'echo bye' EXIT; echo hi")).stderr).toBe("++ trap 'echo bye' EXIT\n++ echo hi\n++ echo bye\n");
    expect((await run("echo quiet")).stderr).toBe("");
  },

  "set -C, -u, -e, -f, -n and pipefail do not disturb saving": async ({ shell }) => {
    const { run, text } = await shell();
    for (const [index, mode] of ["-C", "-u", "-e", "-f", "-o pipefail", "-o noclobber -eux", "-h +B", "-E", "-T", "-P"].entries()) {
      expect((await run(`export MODE_${index}=1; set ${mode}`)).warnings).toEqual([]);
    }
    expect(await text("for i in {0..9}; do name=MODE_$i; echo -n ${!name}; done")).toBe("1111111111");
  },

  "set -a exports what the command sets and nothing of Holdfast": async ({ shell }) => {
    const { run, text } = await shell();
    await run("set -a; A=1; f() { :; }");
    expect(await text("env | grep -c ^A=1; env | grep -ci __holdfast || true; declare -p cwd saved 2>/dev/null || echo none")).toBe(
      "1\n0\nnone",
    );
  },

  "posix mode ends with the call and does not harm the session": async ({ shell }) => {
    const { run, text } = await shell();
    await run("my-function() { echo mine; }; alias if2=echo");
    await run("export A=1; set -o posix");
    await run("export B=1 POSIXLY_CORRECT=1");
    expect(await text("my-function; echo $A $B; set -o | grep posix | tr -d ' \\t'")).toBe("mine\n1 1\nposixoff");
  },

  "functions named like builtins do no harm": async ({ shell }) => {
    const { run, text } = await shell();
    const names = [
      "cd",
      "printf",
      "declare",
      "export",
      "alias",
      "unset",
      "local",
      "exit",
      "eval",
      "set",
      "shopt",
      "read",
      "umask",
      "command",
      "exec",
      "echo",
      "pwd",
      "test",
      "[",
    ];
    await run(`export A=1\n${names.map((name) => `${name}() { builtin echo "fake ${name}"; }`).join("\n")}`);
    expect(await text("cd /; printf x; builtin printf '%s\\n' $A", { env: { ONE: "1" } })).toBe("fake cd\nfake printf\n1");
    await run("B=2; builtin export B");
    expect(await text("builtin echo $A $B", { cwd: "/" })).toBe("1 2");
  },

  "functions with Holdfast's own names and one called builtin do not break the session": async ({ shell }) => {
    const { run, text } = await shell();
    await run("builtin() { echo fake; }; export A=1");
    expect(await text("echo $A; type -t builtin")).toBe("1\nbuiltin");
    await run("trap() { echo fake; }; export B=1");
    await run("__holdfast_go() { echo fake; }; export C=1");
    expect(await text("echo $A $B $C", { cwd: "/" })).toBe("1 1 1");
  },

  "whatever a command calls its functions, it ran, and the session goes on": async ({ shell }) => {
    const { run, text } = await shell();
    const fakes = "unset() { :; }; builtin() { echo HA; }; set() { :; }; eval() { :; }; exec() { :; }";
    expect(await run(`export A=1; ${fakes}; exit 4`)).toMatchObject({ exitCode: 4, warnings: [] });
    expect(await text("echo $A")).toBe("1");
    await run("f() { echo exported; }; declare() { exit 0; }; export -f f declare; readonly -f f; export B=1");
    expect(await text("echo $B; bash -c f; type -t declare")).toBe("1\nexported\nfunction");
    expect(await text("echo $B; bash -c f; type -t declare")).toBe("1\nexported\nfunction");
  },

  "aliases of any name reach nothing but the command": async ({ shell }) => {
    const aliases = [
      "unset=exit",
      "{='exit 9;{'",
      "builtin=false",
      "__holdfast_end=false",
      "if='exit 9;if'",
      "set='exit 9'",
      "eval='exit 9'",
    ];
    for (const alias of aliases) {
      const { run, text } = await shell();
      const name = alias.split("=")[0];
      expect(await run(`export A=1; alias ${alias}; exit 4`), alias).toMatchObject({ exitCode: 4, warnings: [] });
      expect(await run(`trap 'echo bye $?' EXIT\nexit 5`), alias).toMatchObject({ exitCode: 5, stdout: "bye 5\n" });
      expect(await text(`\\alias ${name} | \\grep -c .; echo $A`), alias).toBe("1\n1");
    }
    const { run } = await shell();
    expect((await run("alias say='echo said'\ntrap 'say bye' EXIT")).stdout).toBe("said bye\n");
  },

  "odd functions persist": async ({ shell }) => {
    const { run, text } = await shell();
    await run(`a.b-c() { echo dotted; }
function if() { echo keyword; }
heredoc() { cat <<END
  $1 "quoted" 'single' \\$notavar
END
}
nested() { inner() { echo inner; }; inner; }
redirected() { echo to stderr; } >&2`);
    expect(await text("a.b-c; \\if; heredoc x; nested; redirected 2>&1")).toBe(
      `dotted\nkeyword\n  x "quoted" 'single' $notavar\ninner\nto stderr`,
    );
  },

  "odd aliases persist, and argument lists do not expand them": async ({ shell }) => {
    const { run, text } = await shell();
    await run(`alias ls='echo aliased' quote="it's" multi='echo one
echo two' trailing='echo '; alias echo=false`);
    expect(await text("unalias echo\nls; multi; trailing trailing")).toBe("aliased\none\ntwo\necho");
    expect(await text(["echo", "plain"])).toBe("plain");
    expect((await run(["ls", "-d", "/"])).stdout).toBe("/\n");
  },

  "argument lists run exactly as they are": async ({ shell }) => {
    const { run, text, directory } = await shell();
    const odd = [
      "two words",
      "",
      "it's",
      '"',
      "$HOME",
      "`id`",
      "*",
      "~",
      "a\nb",
      "-n",
      "\\",
      "!",
      "{a,b}",
      "a=b",
      ";",
      "&",
      "|",
      "#x",
      "é",
    ];
    expect(await text(["printf", "<%s>", ...odd])).toBe(odd.map((word) => `<${word}>`).join(""));
    expect((await run(["A=b"])).exitCode).toBe(127);
    expect((await run(["if", "x"])).exitCode).toBe(127);
    expect((await run(["bash", "-c", "exit 9"])).exitCode).toBe(9);
    await run(["mkdir", "deep dir"]);
    expect((await run(["cd", "deep dir"])).cwd).toBe(`${directory}/deep dir`);
    await run(["export", "FROM=list"]);
    expect(await text("echo $FROM")).toBe("list");
  },

  "line numbers count from the command's first line": async ({ shell }) => {
    const { run } = await shell();
    expect((await run("true\ntrue\nno-such-program")).stderr).toBe("bash: line 3: no-such-program: command not found\n");
    expect((await run("echo $LINENO")).stdout).toBe("1\n");
    expect((await run("no-such-program")).stderr).toBe("bash: line 1: no-such-program: command not found\n");
  },

  "positional parameters are empty and $0 is bash": async ({ shell }) => {
    const { text } = await shell();
    expect(await text('echo "$0 $# ${1-none}"; set -- a b; echo $2')).toBe("bash 0 none\nb");
  },

  "a limit that the command sets on itself changes no exit code, and what it keeps from being saved is said": async ({ shell }) => {
    const { run, text, directory, connection } = await shell();
    await run("export A=1");
    const result = await run("export A=2; ulimit -f 0; echo said; exit 4");
    expect(result).toMatchObject({ exitCode: 4, signal: null, stdout: "said\n", cwd: directory });
    // The limit is the shell's, so it does not touch a daemon that saves the state.
    expect(result.warnings).toEqual(connection.daemon ? [] : [expect.stringMatching(/not saved/)]);
    expect(await text("echo $A")).toBe(connection.daemon ? "2" : "1");
  },
};
