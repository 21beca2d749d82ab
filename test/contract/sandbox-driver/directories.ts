/** @module Cases: where commands run. */
import { expect } from "vitest";
import { printed } from "../../helpers/collect.ts";
import type { Cases } from "./kit.ts";

export const directoryCases: Cases = {
  "S32 a session begins in the configured directory": async ({ shell }) => {
    const { run, directory } = await shell();
    expect(await run("pwd")).toMatchObject({ stdout: `${directory}\n`, cwd: directory, cwdRecovered: null });
  },

  "S32 a session can begin at home": async ({ shell, shared }) => {
    const home = await printed(await shared(), "cd && pwd");
    const { text } = await shell({ startDirectory: "~" });
    expect(await text("pwd")).toBe(home);
    const below = await shell({ startDirectory: "~/" });
    expect(await below.text("pwd")).toBe(home);
  },

  "S32 a session whose first directory is not there is refused": async ({ shell }) => {
    for (const startDirectory of ["/not/there", "/etc/passwd", "~/not/there"]) {
      const { run } = await shell({ startDirectory });
      await expect(run("true")).rejects.toMatchObject({ code: "cwd-invalid", facts: { cwd: startDirectory } });
    }
  },

  "S32 a directory for one call does not stick": async ({ shell }) => {
    const { run, text, directory } = await shell();
    await run("mkdir -p here/below there; cd here; cd ../there");
    expect(await run("pwd; cd /", { cwd: "/etc" })).toMatchObject({ stdout: "/etc\n", cwd: `${directory}/there` });
    expect(await text("pwd; cd -")).toBe(`${directory}/there\n${directory}/here`);
  },

  "S32 a directory for one call may be relative, at home, or oddly named": async ({ shell, shared }) => {
    const { run, text, directory } = await shell();
    const home = await printed(await shared(), "cd && pwd");
    await run(["mkdir", "-p", "sub/deep", "-", "./--", "~", "with space", "line\nbreak"]);
    const where = async (cwd: string) => (await run('printf %s "$PWD"', { cwd })).stdout;
    expect(await where("sub/deep")).toBe(`${directory}/sub/deep`);
    expect(await where("./sub/../sub")).toBe(`${directory}/sub`);
    expect(await where("~")).toBe(home);
    expect(await where("./~")).toBe(`${directory}/~`);
    for (const name of ["-", "--", "with space", "line\nbreak"]) expect(await where(name)).toBe(`${directory}/${name}`);
    expect(await text("pwd")).toBe(directory);
  },

  "S32 a directory for one call ignores CDPATH": async ({ shell }) => {
    const { run, directory } = await shell();
    await run("mkdir -p sub elsewhere/sub; export CDPATH=$PWD/elsewhere");
    expect((await run("pwd", { cwd: "sub" })).output).toBe(`${directory}/sub\n`);
  },

  "a directory that is a file, missing or forbidden refuses the call": async ({ shell }) => {
    const { run, text } = await shell();
    await run("touch file; export RAN=no");
    for (const cwd of ["file", "/not/there", "~nobody-of-that-name"]) {
      await expect(run("export RAN=yes", { cwd })).rejects.toMatchObject({ code: "cwd-invalid", facts: { cwd } });
    }
    for (const cwd of ["", "nul\0nul"]) await expect(run("export RAN=yes", { cwd })).rejects.toMatchObject({ code: "cwd-invalid" });
    expect(await text("echo $RAN")).toBe("no");
  },

  "a directory below a home that is not set refuses the call": async ({ shell }) => {
    const { run } = await shell();
    await run("unset HOME");
    await expect(run("pwd", { cwd: "~" })).rejects.toMatchObject({ code: "cwd-invalid" });
    await run("export HOME=/not/there");
    await expect(run("pwd", { cwd: "~" })).rejects.toMatchObject({ code: "cwd-invalid" });
    expect((await run("echo ~")).stdout).toBe("/not/there\n");
  },

  "S32 a deleted directory recovers to the nearest parent, and the result says so": async ({ shell }) => {
    const { run, directory } = await shell();
    await run("mkdir -p a/b/c; cd a/b/c");
    await run(["rm", "-rf", `${directory}/a/b`], { session: `${Math.random()}`.slice(2) });
    const result = await run("pwd");
    expect(result).toMatchObject({ exitCode: 0, stdout: `${directory}/a\n`, cwd: `${directory}/a` });
    expect(result.cwdRecovered).toEqual({ from: `${directory}/a/b/c`, to: `${directory}/a` });
    expect((await run("pwd")).cwdRecovered).toBeNull();
  },

  "S32 a command may delete the directory it stands in": async ({ shell }) => {
    const { run, directory } = await shell();
    expect(await run('mkdir gone; cd gone; rmdir "$PWD"; export A=1')).toMatchObject({ exitCode: 0, warnings: [] });
    expect(await run("pwd; echo $A")).toMatchObject({
      stdout: `${directory}\n1\n`,
      cwdRecovered: { from: `${directory}/gone`, to: directory },
    });
  },

  "S32 a deleted directory recovers also when the call names its own": async ({ shell }) => {
    const { run, directory } = await shell();
    await run('mkdir gone; cd gone; rmdir "$PWD"');
    const result = await run("pwd", { cwd: "/etc" });
    expect(result).toMatchObject({ stdout: "/etc\n", cwd: directory, cwdRecovered: { to: directory } });
  },

  "S32 a directory keeps the name by which it was entered": async ({ shell }) => {
    const { run, text, directory } = await shell();
    await run("mkdir real; ln -s real link; cd link");
    expect(await text("pwd; pwd -P")).toBe(`${directory}/link\n${directory}/real`);
  },

  "S32 setting or unsetting PWD does not move the session": async ({ shell }) => {
    const { run, text, directory } = await shell();
    expect((await run("PWD=relative")).cwd).toBe(directory);
    expect((await run("PWD=/not/there; export PWD")).cwd).toBe(directory);
    expect((await run("unset PWD OLDPWD")).cwd).toBe(directory);
    expect(await text("pwd; echo $PWD")).toBe(`${directory}\n${directory}`);
  },

  "S32 a read-only PWD or OLDPWD binds only the call that made it so": async ({ shell }) => {
    const { run, text, directory } = await shell();
    await run("mkdir one two; cd one; cd ../two; readonly PWD OLDPWD; export A=1");
    expect(await run("pwd; echo $PWD")).toMatchObject({
      stdout: `${directory}/two\n${directory}/two\n`,
      cwd: `${directory}/two`,
      cwdRecovered: null,
    });
    expect(await text("pwd", { cwd: "../one" })).toBe(`${directory}/one`);
    expect(await text("cd -; cd /; pwd; echo $A")).toBe(`${directory}/one\n/\n1`);
  },

  "S32 a session knows where it is, whatever a command does to the shell's own books": async ({ shell }) => {
    const { run, text, directory } = await shell();
    for (const trick of ["unset DIRSTACK", "unset DIRSTACK; DIRSTACK=/etc", "set -k", "set -kP", "PWD=/etc; unset DIRSTACK"]) {
      await run("cd /");
      expect(await run(`cd /usr; ${trick}`), trick).toMatchObject({ cwd: "/usr", warnings: [] });
      expect(await text("pwd"), trick).toBe("/usr");
    }
    expect(await run("set -k; trap 'echo bye $?' EXIT; exit 3")).toMatchObject({ exitCode: 3, stdout: "bye 3\n" });
    const odd = `${directory}/line break\n`;
    await run(["mkdir", odd]);
    expect((await run(`cd '${odd}'; unset DIRSTACK`)).cwd).toBe(odd);
  },

  "S32 a session without a directory is damaged": async ({ shell }) => {
    const { run, connection, stateFile } = await shell();
    await run("true");
    await printed(connection, 'sed -i "1s|=.*|=|" "$1"', stateFile);
    await expect(run("true")).rejects.toMatchObject({ code: "session-failed" });
  },

  "S32 very deep directories are entered again, or recovered from": async ({ shell }) => {
    const { run, directory } = await shell();
    const name = "d".repeat(200);
    const inside = await run(`for i in {1..15}; do mkdir ${name}; cd ${name}; done`);
    expect(inside.cwd).toBe(`${directory}${`/${name}`.repeat(15)}`);
    expect((await run("pwd")).stdout).toBe(`${inside.cwd}\n`);
    // Beyond the longest path that the system takes in one piece.
    await run(`for i in {1..15}; do mkdir ${name}; cd ${name}; done`);
    const result = await run("pwd");
    expect(result.exitCode).toBe(0);
    expect(result.cwdRecovered?.from.startsWith(inside.cwd)).toBe(true);
    expect(result.stdout).toBe(`${result.cwdRecovered?.to}\n`);
    // Node cannot remove what is that deep.
    await run(["rm", "-rf", `${directory}/${name}`]);
  },

  "S32 going back and the directory stack work": async ({ shell }) => {
    const { run, text, directory } = await shell();
    await run("mkdir one two; cd one; cd ../two");
    expect(await text("cd - >/dev/null; pwd")).toBe(`${directory}/one`);
    expect(await text("pushd ../two >/dev/null; pushd / >/dev/null; popd >/dev/null; pwd")).toBe(`${directory}/two`);
    expect(await text("pwd")).toBe(`${directory}/two`);
  },
};
