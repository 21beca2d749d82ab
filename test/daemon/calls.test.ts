import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FROM_CLIENT, FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { describeIf, testIf } from "../helpers/requirements.ts";
import { forSuite } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { createClient } from "./client.ts";
import { FLAG, readEnded, u32 } from "./frames.ts";
import { alive, childrenOf, eventually } from "./machine.ts";

describeIf("cc", "calls of holdfastd", () => {
  const scratch = forSuite(temporaryDirectory);
  const daemon = forSuite(() => startDaemon(scratch.path));

  test("tell the output of each stream, the exit code and the signal", async () => {
    await using client = await createClient(daemon);
    expect(await client.call("echo hi; echo err >&2; exit 3")).toMatchObject({
      code: 3,
      signal: 0,
      cause: 0,
      saved: 0,
      stdout: "hi\n",
      stderr: "err\n",
    });
    expect(await client.call("kill -9 $$")).toMatchObject({ code: 0, signal: 9, cause: 0 });
    expect(await client.call("echo a; echo b >&2; echo c", { flags: FLAG.merge })).toMatchObject({ stdout: "a\nb\nc\n", stderr: "" });
  });

  test("get their arguments, environment and directory as they were given", async () => {
    await using client = await createClient(daemon);
    expect((await client.call(["bash", "-c", 'printf "%s|" "$@"', "x", "a b", "", "é\n"])).stdout).toBe("a b||é\n|");
    expect((await client.call("pwd", { cwd: "/usr" })).stdout).toBe("/usr\n");
    expect((await client.call("pwd")).stdout).toBe("/\n");
    expect((await client.call(["env"], { env: ["A=1", "B=x=y"] })).stdout).toBe("A=1\nB=x=y\n");
    expect((await client.call(["/usr/bin/env"], { env: [] })).stdout).toBe("");
  });

  test("have a session of their own, no descriptor of the daemon's, no signal ignored or blocked", async () => {
    await using client = await createClient(daemon);
    expect((await client.call("ls /proc/self/fd")).stdout).toBe("0\n1\n2\n3\n");
    const { stdout } = await client.call("grep -E '^Sig(Blk|Ign)' /proc/self/status; ps -o pgid=,sid= $$; echo $$");
    const [blocked, ignored, groups, pid] = stdout.trim().split("\n");
    expect([blocked, ignored]).toEqual(["SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"]);
    expect(groups?.trim().split(/\s+/)).toEqual([pid, pid]);
  });

  test.for([
    { command: ["nonexistent"], options: {}, errno: 2, text: "nonexistent" },
    { command: ["true"], options: { cwd: "/nonexistent" }, errno: 2, text: "/nonexistent" },
    { command: ["/etc/passwd"], options: {}, errno: 13, text: "/etc/passwd" },
    { command: [""], options: {}, errno: 2, text: "cannot run" },
    { command: ["true"], options: { env: ["PATH=/nowhere"] }, errno: 2, text: "true" },
  ])("that cannot be started say why: $text", async ({ command, options, errno, text }) => {
    await using client = await createClient(daemon);
    await expect(client.call(command, options)).rejects.toMatchObject({ errno, message: expect.stringContaining(text) });
  });

  test("S35 take any input, and may leave it unread", async () => {
    await using client = await createClient(daemon);
    const input = randomBytes(3_000_000);
    const echoed = await client.call("sha256sum", { input });
    expect(echoed.stdout.slice(0, 64)).toBe(process.getBuiltinModule("node:crypto").createHash("sha256").update(input).digest("hex"));
    expect(await client.call("head -c 5 >/dev/null", { input })).toMatchObject({ code: 0 });
    expect((await client.call("exec 0<&-; echo done", { input })).stdout).toBe("done\n");
    expect((await client.call(["cat"])).stdout).toBe("");
  });

  test("S34 tell all that was in the pipe at the end", async () => {
    await using client = await createClient(daemon);
    for (const bytes of [1, 4096, 65_536, 65_537, 1_000_000]) {
      expect((await client.call(`head -c ${bytes} /dev/zero`)).stdout).toHaveLength(bytes);
    }
  });

  test("S34 end with their command, though a child holds the pipe for an hour, and the child stays", async () => {
    await using client = await createClient(daemon);
    const { stdout, code } = await client.call("sleep 3600 & echo $!; exit 4");
    expect(code).toBe(4);
    expect(alive(Number(stdout))).toBe(true);
    // Its pipe is read on: it would die of a broken one.
    const writer = await client.call("(trap '' HUP; while echo x; do read -t 0.01 </dev/zero; done) & echo $! >&2");
    await client.call("sleep 0.2");
    expect(alive(Number(writer.stderr))).toBe(true);
    process.kill(Number(stdout), "SIGKILL");
    process.kill(Number(writer.stderr), "SIGKILL");
    await eventually(() => childrenOf(daemon.pid).length === 0, "the keepers have ended");
  });

  test("S34 send no more than their credit, and hold their command back", async () => {
    await using client = await createClient(daemon);
    const call = await client.start("yes", { credit: 1000 });
    const count = async (bytes: number) => {
      for (let left = bytes; left > 0; ) {
        const { length } = await call.take(FROM_DAEMON.output);
        left -= length - 1;
        expect(left).toBeGreaterThanOrEqual(0);
      }
    };
    await count(1000);
    // Whatever came beyond the credit would have been sent before this answer.
    await client.status();
    call.send(FROM_CLIENT.credit, u32(70_000));
    await count(70_000);
    call.send(FROM_CLIENT.kill, u32(0));
    call.send(FROM_CLIENT.credit, u32(2 ** 30));
    expect(readEnded((await call.finish()).last.payload)).toMatchObject({ cause: 2 });

    const last = await client.start("echo 12345", { credit: 2 });
    expect((await last.take(FROM_DAEMON.output)).toString()).toBe("\x0112");
    last.send(FROM_CLIENT.credit, u32(10));
    expect((await last.finish()).stdout.toString()).toBe("345\n");
  });

  test("S38 run at the same time, and one slow call does not delay another", async () => {
    await using client = await createClient(daemon);
    const fifo = join(scratch.path, "fifo");
    execFileSync("mkfifo", [fifo]);
    const slow = client.call(`read -r line <"${fifo}"; echo "$line"`);
    expect((await client.call("echo fast")).stdout).toBe("fast\n");
    await client.call(`echo released >"${fifo}"`);
    expect((await slow).stdout).toBe("released\n");
  });

  test("S32 keep their state in one step, or leave the old one", async () => {
    await using client = await createClient(daemon);
    const directory = join(scratch.path, "states");
    await mkdir(directory);
    const state = join(directory, "state");
    const kept = () => readFile(state, "utf8");
    expect(await client.call("printf 'one\\n\\0' >&3; echo said >&4", { state })).toMatchObject({ saved: 1, report: "said\n", reason: "" });
    expect([await kept(), (await stat(state)).mode & 0o777]).toEqual(["one\n", 0o600]);
    expect(await client.call("exit 5", { state })).toMatchObject({ saved: 0, code: 5 });
    expect(await client.call("trap 'printf \"two\\\\n\\\\0\" >&3' EXIT; exit 6", { state })).toMatchObject({ saved: 1, code: 6 });
    expect(await client.call("echo part >&3; kill -9 $$", { state })).toMatchObject({
      saved: 2,
      reason: expect.stringContaining("not complete"),
    });
    expect(await kept()).toBe("two\n");
    expect(await client.call("head -c 20000000 /dev/zero >&3", { state })).toMatchObject({ saved: 2 });
    expect(await client.call("echo x >&3", { state: join(directory, "no/such") })).toMatchObject({ saved: 2, code: 0 });
    expect((await client.call("head -c 100000 /dev/zero >&4; printf 'big\\0' >&3", { state })).report).toHaveLength(16_384);
    expect(await client.call("trap 'printf \"timed\\\\n\\\\0\" >&3' EXIT; sleep 1000", { state, timeout: 200 })).toMatchObject({
      saved: 1,
      cause: 1,
    });
    expect([await kept(), await readdir(directory)]).toEqual(["timed\n", ["state"]]);
  });

  testIf("mount", "S32 keep the old state when the disk is full", async () => {
    await using client = await createClient(daemon);
    const disk = join(scratch.path, "disk");
    await mkdir(disk);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk]);
    try {
      await writeFile(join(disk, "state"), "old");
      const end = await client.call("head -c 200000 /dev/zero >&3; true", { state: join(disk, "state") });
      expect(end).toMatchObject({ saved: 2, reason: expect.stringContaining("No space") });
      expect([await readFile(join(disk, "state"), "utf8"), await readdir(disk)]).toEqual(["old", ["state"]]);
    } finally {
      execFileSync("umount", ["-l", disk]);
    }
  });
});
