/** @module Cases: what a session keeps from one call to the next, and what keeps sessions apart. */
import { expect } from "vitest";
import { printed } from "../../helpers/collect.ts";
import type { Cases } from "./kit.ts";

const STATEFUL = `mkdir -p sub && cd sub
export KEPT=value
greet() { echo "hello $1"; }
loud() { greet "$1!"; }; export -f loud
alias shout='echo SHOUT'`;

export const sessionCases: Cases = {
  "S32 directory, variables, functions and aliases persist across calls": async ({ shell }) => {
    const { run, text, directory } = await shell();
    expect((await run(STATEFUL)).cwd).toBe(`${directory}/sub`);
    expect(await text("pwd; echo $KEPT; greet you; shout it")).toBe(`${directory}/sub\nvalue\nhello you\nSHOUT it`);
    expect(await text("bash -c 'greet() { echo child \"$1\"; }; loud x'")).toBe("child x!");
  },

  "S32 they persist across connections and host processes": async ({ shell }) => {
    const first = await shell();
    await first.run(STATEFUL);
    const second = await first.elsewhere();
    expect(await second.text("pwd; echo $KEPT; greet you; shout it")).toBe(`${first.directory}/sub\nvalue\nhello you\nSHOUT it`);
    await second.run("KEPT=changed; cd ..");
    expect(await first.text("pwd; echo $KEPT")).toBe(`${first.directory}\nchanged`);
  },

  "S32 what is taken away stays away": async ({ shell }) => {
    const { run, text } = await shell();
    await run(STATEFUL);
    await run("unset KEPT; unset -f greet loud; unalias shout");
    expect(await text("echo ${KEPT-gone}; type greet loud shout >/dev/null 2>&1 || echo none")).toBe("gone\nnone");
  },

  "S32 variables that are not exported, and options, end with the call": async ({ shell }) => {
    const { run, text } = await shell();
    await run("plain=1; set -u; set -f; shopt -s nullglob");
    expect(await text("echo ${plain-gone} $unset /et[c]; shopt -q nullglob || echo off")).toBe("gone /etc\noff");
  },

  "S32 two sessions do not mix": async ({ shell }) => {
    const { run, text, directory } = await shell();
    await run(STATEFUL);
    const other = `${Math.random()}`.replace("0.", "other");
    expect(await text("pwd; echo ${KEPT-none}; type greet >/dev/null 2>&1 || echo none", { session: other })).toBe(
      `${directory}\nnone\nnone`,
    );
    await run("export KEPT=other; cd /", { session: other });
    expect(await text("pwd; echo $KEPT")).toBe(`${directory}/sub\nvalue`);
  },

  "S32 a command that ends with exit keeps its changes": async ({ shell }) => {
    const { run, text, directory } = await shell();
    expect(await run("mkdir d; cd d; export A=1; exit 3")).toMatchObject({ exitCode: 3, cwd: `${directory}/d`, warnings: [] });
    expect(await text("pwd; echo $A")).toBe(`${directory}/d\n1`);
  },

  "S32 a call that fails keeps what it changed before": async ({ shell }) => {
    const { run, text } = await shell();
    expect((await run("set -e; export A=1; false; export A=2")).exitCode).toBe(1);
    expect((await run("export B=1; holdfast-no-such-program")).exitCode).toBe(127);
    expect((await run("export C=1; (exit 9)")).exitCode).toBe(9);
    expect((await run("set -u; export D=1; echo $nothing")).exitCode).not.toBe(0);
    expect((await run("export E=1; if then")).exitCode).toBe(2);
    expect(await text("echo $A $B $C $D ${E-unparsed}")).toBe("1 1 1 1 unparsed");
  },

  "S32 an exit trap runs, sees the status, and the state is kept": async ({ shell }) => {
    const { run, text } = await shell();
    expect(await run("trap 'echo bye $?' EXIT; export A=1; false")).toMatchObject({ exitCode: 1, stdout: "bye 1\n" });
    expect(await run("trap 'echo bye $?; exit 7' EXIT; export B=1; exit 4")).toMatchObject({ exitCode: 7, stdout: "bye 4\n" });
    expect(await run("trap 'echo first' exit; trap 'echo second' 0; trap 'echo int' INT")).toMatchObject({ stdout: "second\n" });
    expect(await run("trap 'echo no' EXIT; trap - EXIT; trap 'echo no' EXIT; trap EXIT")).toMatchObject({ stdout: "" });
    expect(await run("set -e; trap 'echo caught $?' EXIT; false; echo unreached")).toMatchObject({ exitCode: 1, stdout: "caught 1\n" });
    expect(await text("echo $A $B; trap -p")).toBe("1 1");
  },

  "S32 an exit trap can be looked at, replaced and put back": async ({ shell }) => {
    const { text } = await shell();
    expect(await text("trap")).toBe("");
    const script = `trap 'echo "it'"'"'s first"' EXIT; old=$(trap -p EXIT); trap 'echo second' EXIT; eval "$old"; trap -p EXIT`;
    expect(await text(script)).toBe(`trap -- 'echo "it'\\''s first"' EXIT\nit's first`);
    expect(await text('old=$(builtin trap -p EXIT); eval "$old"; export STILL=1')).toBe("");
    expect(await text("echo $STILL; (trap 'echo inner' EXIT; trap -p); echo outer")).toBe("1\ntrap -- 'echo inner' EXIT\ninner\nouter");
  },

  "S32 other traps work as in any shell": async ({ shell }) => {
    const { text } = await shell();
    expect(await text("trap 'echo usr' USR1; kill -USR1 $$; echo after")).toBe("usr\nafter");
    expect(await text("trap 'echo err' ERR; false; true")).toBe("err");
    expect(await text("trap 'echo debug' DEBUG; true")).toBe("debug");
    expect(await text("f() { trap 'echo left' RETURN; echo in; }; f; echo out")).toBe("in\nleft\nout");
    expect(await text("trap '' TERM; kill -TERM $$; echo alive; trap -- 'echo dash' EXIT")).toBe("alive\ndash");
  },

  "S32 replacing or killing the shell leaves the session as it was, and is told": async ({ shell }) => {
    const { run, text, directory } = await shell();
    await run("export A=1");
    expect(await run("export A=2; cd /; exec echo replaced")).toMatchObject({
      exitCode: 0,
      stdout: "replaced\n",
      cwd: directory,
      warnings: [expect.stringContaining("could save session")],
    });
    expect(await run("export A=2; kill -9 $$")).toMatchObject({
      exitCode: 137,
      signal: "SIGKILL",
      cwd: directory,
      warnings: [expect.stringContaining("could save session")],
    });
    expect(await text("pwd; echo $A")).toBe(`${directory}\n1`);
    expect(await run("export A=3; exec holdfast-no-such-program")).toMatchObject({ exitCode: 127 });
    expect(await text("echo $A")).toBe("3");
  },

  "S32 a session that another process removed is simply made again": async ({ shell }) => {
    const first = await shell();
    await first.run("export A=1; cd /");
    await (await first.elsewhere()).sandbox.sessions.remove(first.session);
    expect(await first.run("echo ${A-fresh}; pwd")).toMatchObject({ exitCode: 0, stdout: `fresh\n${first.directory}\n`, warnings: [] });
    expect((await first.run("cat", { stdin: "still fed" })).stdout).toBe("still fed");
  },

  "S32 sessions are listed with the directory they are in": async ({ create, connect, shell }) => {
    const ref = await create();
    const { run, sandbox, directory } = await shell({ on: { ref, connection: await connect(ref) } });
    const names = [
      "plain",
      "with space",
      "line\nbreak",
      "ünïcode 漢",
      "mixed é\nline",
      'quote\'s "and" \\back',
      "tab\tand\u001bescape",
      "$HOME",
    ];
    for (const [index, name] of names.entries()) {
      await run(["mkdir", name], { session: `n${index}` });
      await run(["cd", name], { session: `n${index}` });
    }
    const before = Date.now();
    await run(
      `alias fake=$'x\\n__holdfast_saved_cwd=/wrong\\n'; fake() { cat <<END
__holdfast_saved_cwd=/wrong
END
}`,
      { session: "n0" },
    );
    const listed = await sandbox.sessions.list();
    expect(listed.map(({ name, cwd }) => [name, cwd])).toEqual(names.map((name, index) => [`n${index}`, `${directory}/${name}`]));
    expect(Math.abs((listed[0]?.lastUsedAt ?? 0) - before)).toBeLessThan(60_000);
  },

  "S32 a removed session is gone with all it kept": async ({ create, connect, shell }) => {
    const ref = await create();
    const { run, text, sandbox, connection } = await shell({ on: { ref, connection: await connect(ref) } });
    await run("export A=1", { session: "one" });
    await run("export A=1", { session: "two" });
    await sandbox.sessions.remove("one");
    expect((await sandbox.sessions.list()).map(({ name }) => name)).toEqual(["two"]);
    expect(await printed(connection, 'cd "$1/sessions" && ls', connection.stateDir)).toBe("two");
    expect(await text("echo ${A-fresh}", { session: "one" })).toBe("fresh");
    await expect(sandbox.sessions.remove("never")).rejects.toMatchObject({ code: "session-not-found", facts: { session: "never" } });
    await expect(sandbox.sessions.remove("twoo")).rejects.toMatchObject({ hint: 'did you mean "two"?' });
  },

  "S32 nothing of a call stays behind in the sandbox": async ({ create, connect, shell }) => {
    const ref = await create();
    const { run, connection, session } = await shell({ on: { ref, connection: await connect(ref) } });
    await run("true");
    await run("kill -9 $$");
    await run(`true # ${"x".repeat(200_000)}`);
    await run("sleep 1000", { timeoutMs: 50 });
    await run("true", { cwd: "/not/there" }).catch(() => {});
    const files = await printed(connection, 'cd "$1" && find . -type f | sort', connection.stateDir);
    expect(files.split("\n")).toEqual([`./sessions/${session}/.keep`, `./sessions/${session}/state`]);
    expect(await printed(connection, 'find "$1" -perm /077', connection.stateDir)).toBe("");
  },
};
