import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestCli, LIBRARY, PROGRAM } from "../helpers/cli.ts";
import { testIf } from "../helpers/requirements.ts";

const NODE = [process.execPath, PROGRAM];
/** Runs its arguments where there is nothing any more. */
const DELETED = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"';

describe("the program runs", () => {
  test("without HOLDFAST_HOME, in the user's home", async () => {
    await using cli = await createTestCli();
    const { status } = await cli.runProcess(["exec", "true"], { env: { HOLDFAST_HOME: undefined } });
    expect(status).toBe(0);
    expect(existsSync(join(cli.env.HOME ?? "", ".holdfast/sandboxes"))).toBe(true);
  });

  test("without HOME", async () => {
    await using cli = await createTestCli();
    const { status, stdout, stderr } = await cli.runProcess(["exec", "--", 'echo "[$HOME]"'], { env: { HOME: undefined } });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "[]\n", stderr: "" });
  });

  test("with a relative HOLDFAST_HOME, whatever the session does with directories", async () => {
    await using cli = await createTestCli();
    const env = { HOLDFAST_HOME: "state" };
    await cli.runProcess(["exec", "--", "cd /; export A=1"], { env });
    expect((await cli.runProcess(["exec", "--", "echo $A; pwd"], { env })).stdout).toBe("1\n/\n");
    expect(existsSync(join(cli.directory, "state/sandboxes"))).toBe(true);
  });

  test("S32 from a directory that has been deleted, where no session begins and no relative path leads anywhere", async () => {
    await using cli = await createTestCli();
    const from = (...words: string[]) => cli.runProcess(words, { program: ["sh", "-c", DELETED, "sh", ...NODE] });
    const refused = async (words: string[], message: string, code = 1) => {
      const { status, stdout, stderr } = await from(...words);
      expect({ status, stdout }, stderr).toEqual({ status: code, stdout: "" });
      expect(stderr).toMatch(/^error: .*current directory.* deleted\nhint: .*a directory that exists.*\n$/);
      expect(stderr).toContain(message);
    };
    const canary = join(cli.env.HOME ?? "", "canary");
    await writeFile(canary, "");
    await writeFile(join(cli.env.HOME ?? "", "notes"), "");

    // With words, and with nothing run: not in the home, where a command would find other files than its author meant.
    await refused(["exec", "--", "rm -rf *"], "session default should begin in", 125);
    await refused(["-c", "terminal.cwd=below", "exec", "--", "rm -rf *"], "session default should begin in", 125);
    await refused(["-c", "terminal.daemon=off", "exec", "--session", "new", "--", "rm -rf *"], "session new should begin in", 125);
    await refused(["process", "start", "--", "rm -rf *"], "session default should begin in");
    expect(existsSync(canary)).toBe(true);

    // Whatever begins or goes on elsewhere needs no directory of the caller.
    expect(await from("--version")).toMatchObject({ status: 0, stderr: "" });
    expect(await from("-c", "terminal.cwd=~", "exec", "--", "pwd")).toMatchObject({ status: 0, stdout: `${cli.env.HOME}\n`, stderr: "" });
    expect(await from("exec", "--", "pwd")).toMatchObject({ status: 0, stdout: `${cli.env.HOME}\n`, stderr: "" });

    await refused(["cp", "notes", ":/tmp/there"], "notes is relative to");
    await refused(["cp", `:${canary}`, "copy"], "copy is relative to");
    await refused(["cp", `:${canary}`, "."], ". is relative to");
    await refused(["profile", "export", "default"], "default.tar.gz is relative to");
    await refused(["profile", "import", "x.tar.gz"], "x.tar.gz is relative to");
    const id = (await from("kanban", "create", "a task", "--body-file", canary)).stdout.trim();
    expect(id).toMatch(/^t_/);
    await refused(["kanban", "create", "a task", "--body-file", "notes"], "notes is relative to");
    await refused(["kanban", "attach", id, "notes"], "notes is relative to");
    await refused(["kanban", "backup", "copy.db"], "copy.db is relative to");
    await refused(["kanban", "boards", "export", "default"], "default.kanban.tar.gz is relative to");
    await refused(["kanban", "boards", "import", "x.kanban.tar.gz"], "x.kanban.tar.gz is relative to");
    expect(await from("kanban", "attach", id, canary)).toMatchObject({ status: 0 });

    const relative = await cli.runProcess(["exec", "pwd"], {
      program: ["sh", "-c", DELETED, "sh", ...NODE],
      env: { HOLDFAST_HOME: "state" },
    });
    expect(relative).toMatchObject({ status: 125, stdout: "" });
    expect(relative.stderr).toMatch(/^error: HOLDFAST_HOME is relative .*\nhint: /);
  });

  test("S32 from a directory that has been deleted, also as a library", async () => {
    await using cli = await createTestCli();
    const script = `
      import { openHoldfast, openWorker } from ${JSON.stringify(LIBRARY)};
      const tell = (error) => console.log(error.code + ": " + error.message);
      await using holdfast = await openHoldfast();
      console.log((await holdfast.sandboxes.list()).length);
      const box = await holdfast.sandbox();
      await box.run("rm -rf *").then(() => console.log("it ran"), tell);
      await box.start("rm -rf *").then(() => console.log("it ran"), tell);
      await openWorker({ environment: { ...process.env, HOLDFAST_TASK: "t_1", HOLDFAST_RUN_TOKEN: "x" } }).catch(tell);
      const settled = await openHoldfast({ cwd: process.env.HOME });
      console.log((await (await settled.sandbox()).run("pwd")).stdout.trim());
      await settled.close();`;
    const file = join(cli.directory, "program.mjs");
    await writeFile(file, script);
    const program = ["sh", "-c", DELETED, "sh", process.execPath, file];
    const { stdout, stderr } = await cli.runProcess([], { program });
    expect({ lines: stdout.trimEnd().split("\n"), stderr }).toEqual({
      lines: [
        "0",
        "cwd-invalid: session default should begin in the current directory, which has been deleted",
        "cwd-invalid: session default should begin in the current directory, which has been deleted",
        "cwd-invalid: . is relative to the current directory, which has been deleted",
        cli.env.HOME,
      ],
      stderr: "",
    });
  });

  test("from a directory that may be entered but not read", async () => {
    await using cli = await createTestCli();
    await chmod(cli.directory, 0o311);
    const { status, stdout } = await cli.runProcess(["exec", "pwd"], { program: [...withoutSpecialRights(), ...NODE] });
    await chmod(cli.directory, 0o700);
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${cli.directory}\n` });
  });

  test("but not from a directory that may not be entered", async () => {
    await using cli = await createTestCli();
    await chmod(cli.directory, 0o000);
    const { status, stderr } = await cli.runProcess(["exec", "pwd"], { program: [...withoutSpecialRights(), ...NODE] });
    await chmod(cli.directory, 0o700);
    expect(status).toBe(125);
    expect(stderr).toContain(`error: sessions should begin in ${cli.directory}`);
  });

  test("but not where its home is a file", async () => {
    await using cli = await createTestCli();
    await writeFile(cli.home, "");
    const { status, stdout, stderr } = await cli.run(["exec", "true"]);
    expect({ status, stdout }).toEqual({ status: 125, stdout: "" });
    expect(stderr).toMatch(/^error: [^\n]+holdfast home[^\n]+\nhint: [^\n]+\n$/);
    expect((await cli.run(["config", "set", "terminal.timeout", "1"])).status).toBe(1);
  });
});

testIf("mount", "a full disk under HOLDFAST_HOME stops exec with 125 and a message, and harms nothing", async () => {
  await using cli = await createTestCli();
  await mkdir(cli.home);
  spawnSync("mount", ["-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", cli.home]);
  try {
    await cli.run(["exec", "--", "export A=1"]);
    await cli.run(["config", "set", "terminal.timeout", "60"]);
    const before = await readFile(join(cli.home, "config.yaml"), "utf8");
    await fill(join(cli.home, "filler"));

    const exec = await cli.run(["-c", "terminal.daemon=off", "exec", "--", "echo ran; export A=2"]);
    expect(exec).toMatchObject({ status: 125, stdout: "" });
    expect(exec.stderr).toMatch(/^error: .*no space.*\nhint: .+\n$/im);
    const another = await cli.run(["exec", "-t", "another", "--", "echo ran"]);
    expect(another).toMatchObject({ status: 125, stdout: "" });
    expect(another.stderr).toMatch(/no space/i);
    const set = await cli.run(["config", "set", "terminal.timeout", "90"]);
    expect(set).toMatchObject({ status: 1, stdout: "" });
    expect(set.stderr).toMatch(/^error: cannot .*config\.yaml.*\nhint: Free space/);
    expect(await readFile(join(cli.home, "config.yaml"), "utf8")).toBe(before);
    expect((await cli.run(["profile", "create", "x"])).stderr).toMatch(/no space/i);

    await writeFile(join(cli.home, "filler"), "");
    expect((await cli.run(["exec", "--", "echo [$A]"])).stdout).toBe("[1]\n");
    expect((await cli.json<{ task: string }[]>(["sandbox", "ls"])).map(({ task }) => task)).toEqual(["default"]);
    // A daemon would keep the disk busy.
    await cli.run(["sandbox", "rm", "default", "--force"]);
  } finally {
    spawnSync("umount", ["-l", cli.home]);
  }
});

/** Until not a single byte fits any more. */
async function fill(path: string): Promise<void> {
  for (const block of [65_536, 4096, 1]) spawnSync("dd", ["if=/dev/zero", `of=${path}`, `bs=${block}`, "oflag=append", "conv=notrunc"]);
}

/** Root enters every directory unless this right is taken away. */
function withoutSpecialRights(): string[] {
  return process.getuid?.() === 0 ? ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] : [];
}
