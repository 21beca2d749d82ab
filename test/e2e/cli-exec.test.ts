import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestCli, PROGRAM, type TestCli } from "../helpers/cli.ts";

/** Shell text in which `holdfast` is the program. */
function shell(cli: TestCli, text: string) {
  const define = `holdfast() { '${process.execPath}' '${PROGRAM}' "$@"; }`;
  return cli.runProcess([`${define}\n${text}`], { program: ["bash", "-c"] });
}

describe("exec in processes of their own", () => {
  test("S18 S32 the second finds the file, the directory, variables, functions and aliases of the first", async () => {
    await using cli = await createTestCli();
    const first = await cli.runProcess([
      "exec",
      "--",
      "mkdir d && cd d && echo hello > note && export A='x y' && f() { echo f; } && alias a='echo a' && pwd",
    ]);
    expect(first).toMatchObject({ status: 0, stdout: `${cli.directory}/d\n`, stderr: "" });
    const second = await cli.runProcess(["exec", "--", 'cat note; pwd; echo "$A"; f; a'], { cwd: "/" });
    expect(second).toMatchObject({ status: 0, stdout: `hello\n${cli.directory}/d\nx y\nf\na\n`, stderr: "" });
  });

  test("S34 passes every byte on, and keeps the two streams apart", async () => {
    await using cli = await createTestCli();
    const { status, bytes, stderr } = await cli.runProcess([
      "exec",
      "--",
      "printf '\\0\\1\\377\\376\\r\\n\\033[0m'; head -c 300000 /dev/urandom | tee copy; echo aside >&2",
    ]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "aside\n" });
    const prefix = Buffer.from([0, 1, 255, 254, 13, 10, 27, 91, 48, 109]);
    expect(bytes.equals(Buffer.concat([prefix, await readFile(join(cli.directory, "copy"))]))).toBe(true);
  });

  test("S34 loses and changes nothing when the reader is slow", async () => {
    await using cli = await createTestCli();
    const { stdout } = await shell(
      cli,
      "holdfast exec -- 'for i in {1..60000}; do echo $i; done' | { sleep 0.5; while IFS= read -r line; do echo $line; done | sha256sum; }",
    );
    const expected = createHash("sha256")
      .update(`${Array.from({ length: 60_000 }, (_, index) => index + 1).join("\n")}\n`)
      .digest("hex");
    expect(stdout).toBe(`${expected}  -\n`);
  });

  test("takes an argument of 120 KB, as text and as one of several", async () => {
    await using cli = await createTestCli();
    const long = "x".repeat(120_000);
    expect((await cli.runProcess(["exec", "--", `printf %s ${long} | wc -c`])).stdout).toBe("120000\n");
    expect((await cli.runProcess(["exec", "printf", "%s", long])).stdout).toBe(long);
  });

  test("ends the command, without a word, when the reader of its output goes away", async () => {
    await using cli = await createTestCli();
    const { stdout, stderr } = await shell(cli, "holdfast exec -- 'echo $$ > pid; exec yes' | head -n 1; echo ${PIPESTATUS[0]}");
    expect({ stdout, stderr }).toEqual({ stdout: "y\n141\n", stderr: "" });
    expect(existsSync(`/proc/${(await readFile(join(cli.directory, "pid"), "utf8")).trim()}`)).toBe(false);
  });

  test("S33 ends output that never ends with the timeout", async () => {
    await using cli = await createTestCli();
    const { stdout } = await shell(cli, "holdfast exec --timeout 1 -- yes | tail -n 1; echo ${PIPESTATUS[0]}");
    expect(stdout).toBe("y\n124\n");
  });

  test("S34 waits for a command that closes its output early, and not for one in the background that keeps it open", async () => {
    await using cli = await createTestCli();
    expect(await cli.runProcess(["exec", "--", "exec >&- 2>&-; sleep 0.2; touch late; exit 3"])).toMatchObject({ status: 3, stdout: "" });
    expect(existsSync(join(cli.directory, "late"))).toBe(true);
    const { status, stdout } = await cli.runProcess(["exec", "--", "sleep 600 & echo $!"]);
    expect(status).toBe(0);
    process.kill(Number(stdout), "SIGKILL");
  });

  test("S35 gives the command what is piped in only with --stdin", async () => {
    await using cli = await createTestCli();
    const input = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 256));
    expect((await cli.runProcess(["exec", "--stdin", "--", "cat"], { input })).bytes.equals(input)).toBe(true);
    expect((await cli.runProcess(["exec", "--", "cat"], { input })).bytes.length).toBe(0);
    expect(await cli.runProcess(["exec", "--stdin", "--", "bash"], { input: "echo from stdin\nexit 5\n" })).toMatchObject({
      status: 5,
      stdout: "from stdin\n",
    });
  });

  test("fails with a message when its own output cannot be written", async () => {
    await using cli = await createTestCli();
    const exec = await shell(cli, "holdfast exec -- 'echo text; exec sleep 600' > /dev/full");
    expect(exec.status).toBe(125);
    expect(exec.stderr).toMatch(/^error: standard output cannot be written: .*\nhint: .*\n$/);
    const list = await shell(cli, "holdfast config list > /dev/full");
    expect(list).toMatchObject({ status: 1, stderr: exec.stderr });
    const help = await shell(cli, "holdfast --help > /dev/full");
    expect(help).toMatchObject({ status: 1, stderr: exec.stderr });
  });
});
