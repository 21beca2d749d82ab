import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ProcessInfo } from "../../src/sandbox/process.ts";
import { createTestCli, LIBRARY, PROGRAM, type TestCli } from "../helpers/cli.ts";
import { describeIf } from "../helpers/requirements.ts";

const SERVER = `
  const server = require("node:http").createServer((request, response) => {
    console.log("asked for", request.url);
    response.end("here");
  });
  server.listen(0, "127.0.0.1", () => console.log("listening on", server.address().port));`;

// Each test starts the program many times.
vi.setConfig({ testTimeout: 120_000 });

let cli: TestCli;
beforeEach(async () => {
  cli = await createTestCli();
});
afterEach(async () => {
  await cli.run(["sandbox", "rm", "default", "--force"]);
  await cli[Symbol.asyncDispose]();
});

const list = () => cli.json<ProcessInfo[]>(["process", "ls"]);
const start = async (...args: string[]) => (await cli.run(["process", "start", ...args])).stdout.trim();

const quoted = (...words: string[]) => words.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(" ");
const HOLDFAST = quoted(process.execPath, PROGRAM);

describeIf("cc", "holdfast process", () => {
  test("S18 S36 a server whose starter and every holdfast were killed is listed, followed and stopped by others", async () => {
    const server = quoted(process.execPath, "-e", SERVER);
    const script = `${HOLDFAST} process start --name web -- ${quoted(server)}; exec ${HOLDFAST} process logs -f web`;
    const starter = cli.start([script], { program: ["bash", "-c"] });
    const [, id, port] = /^(p_[0-9a-f]{8})\nlistening on (\d+)$/m.exec(await starter.untilPrinted("listening on")) ?? [];
    starter.child.kill("SIGKILL");
    await starter.ended;

    expect(await list()).toMatchObject([{ id, name: "web", state: "running", exitCode: null }]);
    const follower = cli.start(["process", "logs", "--follow", "web"]);
    expect(await (await fetch(`http://127.0.0.1:${port}/page`)).text()).toBe("here");
    await follower.untilPrinted("asked for /page");
    const waiting = cli.start(["process", "wait", String(id)]);
    expect(await cli.runProcess(["process", "kill", "web"])).toMatchObject({ status: 0 });
    expect(await waiting.ended).toMatchObject({ status: 143 });
    expect(await follower.ended).toMatchObject({ status: 0, stdout: `listening on ${port}\nasked for /page\n` });
    expect(await list()).toMatchObject([{ state: "ended", exitCode: 143, signal: "SIGTERM" }]);
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
  });

  test("S18 S36 a process outlives a program that is killed while it holds the sandbox", async () => {
    const program = `
    import { openHoldfast } from ${JSON.stringify(LIBRARY)};
    const box = await (await openHoldfast()).sandbox();
    const { id } = await box.start("echo begun; read -r line; echo got $line", { stdin: true });
    console.log("started", id);
    setInterval(() => {}, 1000);`;
    const starter = cli.start([program], { program: [process.execPath, "--input-type=module", "-e"] });
    const [, id = ""] = /started (\S+)/.exec(await starter.untilPrinted("\n")) ?? [];
    starter.child.kill("SIGKILL");
    await starter.ended;
    expect(await cli.run(["process", "write", "--line", id, "news"])).toMatchObject({ status: 0 });
    expect(await cli.run(["process", "logs", "-f", id])).toEqual({ status: 0, stdout: "begun\ngot news\n", stderr: "" });
  });

  describe("S36 output", () => {
    test("is printed from any byte, byte for byte, and followed to the end", async () => {
      const id = await start("--", "head -c 300000 /dev/urandom | tee copy; echo end >&2");
      const whole = await cli.runProcess(["process", "logs", "-f", id]);
      const copy = await readFile(join(cli.directory, "copy"));
      expect(whole.bytes.equals(Buffer.concat([copy, Buffer.from("end\n")]))).toBe(true);
      const part = await cli.runProcess(["process", "logs", "--from", "299990", id]);
      expect(part.bytes.equals(Buffer.concat([copy.subarray(299_990), Buffer.from("end\n")]))).toBe(true);
      expect((await cli.run(["process", "logs", "--tail", "4", id])).stdout).toBe("end\n");
    });

    test("that was dropped is told", async () => {
      const id = await start("--keep-mb", "0.01", "--", "seq 1 5000");
      await cli.run(["process", "wait", id]);
      const { status, stdout, stderr } = await cli.run(["process", "logs", id]);
      expect(status).toBe(0);
      const [, dropped] = /^note: (\d+) bytes of output were dropped here/.exec(stderr) ?? [];
      expect(Number(dropped) + stdout.length).toBe(23_893);
      expect(stdout).toMatch(/^5000\n$/m);
    });

    test("is one JSON object per stretch with --json", async () => {
      const id = await start("--", "printf 'a\\303\\244'; echo");
      await cli.run(["process", "wait", id]);
      const lines = (await cli.run(["process", "logs", "--json", "-f", id])).stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(lines.map(({ text }) => text).join("")).toBe("aä\n");
      expect(lines[0]).toMatchObject({ offset: 0 });
    });

    test("is no longer followed after Ctrl-C, or when the reader goes away, and the process goes on", async () => {
      const id = await start("--", "echo begun; while :; do echo more; sleep 0.05; done");
      const follower = cli.start(["process", "logs", "-f", id]);
      await follower.untilPrinted("begun");
      follower.child.kill("SIGINT");
      expect(await follower.ended).toMatchObject({ status: 130 });
      const head = await cli.runProcess([`${HOLDFAST} process logs -f ${id} | head -n 1; echo $\{PIPESTATUS[0]}`], {
        program: ["bash", "-c"],
      });
      expect(head).toMatchObject({ stdout: "begun\n141\n", stderr: "" });
      expect(await list()).toMatchObject([{ state: "running" }]);
      await cli.run(["process", "kill", id]);
    });
  });

  test("S36 watch tells of lines that match, and ends with the status of the process", async () => {
    const id = await start("--", "echo ready; echo error 17; echo nothing; exit 9");
    const watch = await cli.run(["process", "watch", "--from", "0", "--match", "ready", "--match", "error", id]);
    expect(watch).toEqual({ status: 9, stdout: "ready\nerror 17\n", stderr: "" });
    const events = await cli.run(["process", "watch", "--from", "0", "--json", "--regex", "--match", "^error \\d+$", id]);
    expect(
      events.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { kind: "match", line: "error 17", offset: 6 },
      { kind: "ended", status: { exitCode: 9 } },
    ]);
    const enough = ["process", "watch", "--from", "0", "--regex", "--match", ".", "--count"];
    expect(await cli.run([...enough, "2", id])).toEqual({ status: 0, stdout: "ready\nerror 17\n", stderr: "" });
    expect(await cli.run([...enough, "4", id])).toMatchObject({ status: 9 });
    const many = await start("--", "seq 1 20");
    expect(await cli.run([...enough, "21", "--max", "30", many])).toMatchObject({ status: 1 });
    const limited = await cli.run(["process", "watch", "--from", "0", "--max", "3", "--regex", "--match", ".", many]);
    expect(limited).toMatchObject({ status: 0, stdout: "1\n2\n3\n", stderr: "note: 17 more matches came too fast to be shown\n" });
  });

  describe("S36 input", () => {
    test("is written as text, with and without a line end, from a pipe, and ended", async () => {
      const id = await start("--stdin", "--", "cat");
      await cli.run(["process", "write", id, "one "]);
      await cli.run(["process", "write", "--line", id, "two"]);
      const input = Buffer.from(Array.from({ length: 400_000 }, (_, index) => index % 251));
      expect(await cli.runProcess(["process", "write", "--end", "--json", id], { input })).toMatchObject({ status: 0 });
      const { bytes } = await cli.runProcess(["process", "logs", "-f", id]);
      expect(bytes.equals(Buffer.concat([Buffer.from("one two\n"), input]))).toBe(true);
    });

    test("is refused by a process that has none", async () => {
      const id = await start("--", "sleep 600");
      const { status, stderr } = await cli.run(["process", "write", id, "x"]);
      expect(status).toBe(1);
      expect(stderr).toContain("it was started without input");
      expect(stderr).toContain("hint: Start it with --stdin");
    });

    test("reaches a process without a terminal through attach, whose end is told", async () => {
      const id = await start("--stdin", "--", "read -r line; echo got $line; exit 6");
      const attached = cli.start(["process", "attach", id]);
      attached.child.stdin?.write("hello\n");
      expect(await attached.ended).toMatchObject({ status: 6, stdout: "got hello\n" });
      const reading = await start("--", "echo begun; sleep 600");
      const looking = cli.start(["process", "attach", reading]);
      await looking.untilPrinted("note: ");
      await cli.run(["process", "kill", reading]);
      expect(await looking.ended).toMatchObject({ status: 143, stderr: expect.stringContaining("note: Ctrl-C lets go of process") });
    });
  });

  test("S36 start takes directory, variables and session, and prints one line", async () => {
    await cli.run(["exec", "--", "mkdir -p a/b; cd a; export A=1"]);
    const command = 'echo "$A $B $C ${PWD##*/}"';
    const flags = ["--name", "look", "--cwd", "b", "-e", "B=2", "-e", "C", "--json"];
    const { stdout } = await cli.run(["process", "start", ...flags, "--", command], { env: { C: "3" } });
    const info = JSON.parse(stdout) as ProcessInfo;
    expect(info).toMatchObject({ name: "look", command, tty: false });
    expect(await cli.run(["process", "logs", "-f", info.id])).toMatchObject({ stdout: "1 2 3 b\n" });
    expect((await cli.run(["exec", "--", "echo [$B] ${PWD##*/}"])).stdout).toBe("[] a\n");
    const words = await start("printf", "<%s>", "$HOME", "a b");
    expect((await cli.run(["process", "logs", "-f", words])).stdout).toBe("<$HOME><a b>");
  });

  test("S36 ls shows what runs, what has ended and how; rm forgets it", async () => {
    expect(await start("--name", "one", "--", "exit 3")).toMatch(/^p_/);
    await cli.run(["process", "wait", "one"]);
    const running = await start("--name", "two", "--", `sleep 600; : ${"x".repeat(100)}`);
    const { stdout } = await cli.run(["process", "ls"]);
    expect(stdout).toMatch(/^ID +NAME +STATE +STARTED +OUTPUT +COMMAND\n/);
    expect(stdout).toMatch(/^p_\w{8} +one +exit 3 +\S+Z +0 B +exit 3$/m);
    expect(stdout).toMatch(/^p_\w{8} +two +running +\S+Z +0 B +sleep 600; : x+…$/m);
    expect(await cli.run(["process", "rm", running])).toMatchObject({ status: 1, stderr: expect.stringContaining("error: ") });
    expect(await cli.json(["process", "rm", "one"])).toEqual({ removed: expect.stringMatching(/^p_/) });
    expect((await list()).map(({ name }) => name)).toEqual(["two"]);
    expect(await cli.run(["process", "kill", "--signal", "kill", running.slice(0, 6)])).toMatchObject({ status: 0 });
    expect(await cli.run(["process", "wait", "--json", "two"])).toMatchObject({ status: 137 });
  });

  test("S36 kill ends the whole tree; --signal only sends one", async () => {
    const id = await start("--", "trap 'echo hup' HUP; trap 'echo usr1' USR1; setsid sleep 600 & echo $!; while :; do sleep 0.1; done");
    const follower = cli.start(["process", "logs", "-f", id]);
    const pid = Number((await follower.untilPrinted("\n")).trim());
    await cli.run(["process", "kill", "--signal", "HUP", id]);
    await follower.untilPrinted("hup");
    await cli.run(["process", "kill", "--signal", String(constants.signals.SIGUSR1), id]);
    await follower.untilPrinted("usr1");
    expect((await cli.run(["process", "kill", "--signal", "99", id])).stderr).toContain("error: there is no signal SIG99");
    expect(existsSync(`/proc/${pid}/exe`)).toBe(true);
    expect(await cli.json(["process", "kill", "--grace", "0", id])).toMatchObject({ id, state: "ended" });
    expect(existsSync(`/proc/${pid}/exe`)).toBe(false);
    await follower.ended;
  });

  describe("what cannot be is refused", () => {
    test.each([["ls"], ["logs x"], ["wait x"], ["kill x"], ["write x y"], ["attach x"], ["watch --match a x"], ["rm x"]])(
      "process %s makes no sandbox",
      async (line) => {
        const { status, stdout, stderr } = await cli.run(["process", ...line.split(" ")]);
        expect({ status: status === 1 || status === 125, stdout }).toEqual({ status: true, stdout: "" });
        expect(stderr).toContain("has no sandbox for task default");
        expect(await cli.json(["sandbox", "ls"])).toEqual([]);
      },
    );

    test.each([
      ["logs --from 1 --tail 1 x", "--from and --tail cannot be given together"],
      ["logs --from -1 x", "--from needs a whole number"],
      ["kill --grace 1 --signal HUP x", "--grace and --signal cannot be given together"],
      ["watch x", "required option '--match <text>' not specified"],
      ["watch --regex --match ( x", "is not a regular expression"],
      ["attach --detach-keys nonsense x", "names a key that does not exist"],
    ])("process %s", async (line, message) => {
      const { stdout, stderr } = await cli.run(["process", ...line.split(" ")]);
      expect(stdout).toBe("");
      expect(stderr).toContain(message);
      expect(await cli.json(["sandbox", "ls"])).toEqual([]);
    });

    test("a process that is not there, and one that two names fit", async () => {
      await start("--name", "same", "--", "sleep 600");
      await start("--name", "same", "--", "sleep 600");
      expect((await cli.run(["process", "logs", "sane"])).stderr).toContain('hint: did you mean "same"?');
      const { status, stderr } = await cli.run(["process", "wait", "same"]);
      expect(status).toBe(125);
      expect(stderr).toContain('error: "same" can be any of 2 processes');
    });
  });

  test("completion offers the processes of the task", async () => {
    const id = await start("--name", "web", "--", "sleep 600");
    const { stdout } = await cli.run(["__complete", "process", "logs", "-f", ""]);
    expect(stdout).toBe(`words\n${id}\tweb\n`);
  });
});
