import { expect, test } from "vitest";
import { FROM_CLIENT, FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { createWriter } from "../../src/sandbox/daemon/wire.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { describeIf } from "../helpers/requirements.ts";
import { forSuite } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { createClient } from "./client.ts";
import { FLAG, PLENTY, readEnded, readOpened, u16s } from "./frames.ts";
import { alive, eventually } from "./machine.ts";

const PTY = { flags: FLAG.pty };
// Without its own line editor: that changes the terminal's mode, and a ^D that comes in between is lost.
const BASH = ["bash", "--norc", "--noprofile", "--noediting", "-i"];
const SHELL = { ...PTY, env: [`PATH=${process.env.PATH}`, "TERM=xterm", "PS1=$ "] };
const bytes = (text: string) => Buffer.from(text);

describeIf("cc", "S37 ptys of holdfastd", () => {
  const scratch = forSuite(temporaryDirectory);
  const daemon = forSuite(() => startDaemon(scratch.path));

  test("are terminals of the size that was asked for, on all three streams", async () => {
    await using client = await createClient(daemon);
    const script = "test -t 0 && test -t 1 && test -t 2 && echo terminal; stty size; tty; echo err >&2; exit 4";
    const { stdout, stderr, code } = await client.call(script, { ...PTY, rows: 33, columns: 101 });
    expect(stdout).toMatch(/^terminal\r\n33 101\r\n\/dev\/pts\/\d+\r\nerr\r\n$/);
    expect([stderr, code]).toEqual(["", 4]);
  });

  test("tell the command when their size changes", async () => {
    await using client = await createClient(daemon);
    const call = await client.start("trap 'stty size; exit 5' WINCH; echo ready; while :; do sleep 0.05; done", PTY);
    await call.until("ready");
    call.send(FROM_CLIENT.resize, u16s(50, 132));
    const { last, stdout } = await call.finish();
    expect([stdout.toString().trim(), readEnded(last.payload).code]).toEqual(["50 132", 5]);
  });

  test("turn ^C into an interrupt, and ^D and the end of input into an end of file", async () => {
    await using client = await createClient(daemon);
    const interrupted = await client.start("trap 'exit 6' INT; echo ready; while :; do sleep 0.05; done", PTY);
    await interrupted.until("ready");
    interrupted.send(FROM_CLIENT.input, bytes("\x03"));
    expect(readEnded((await interrupted.finish()).last.payload)).toMatchObject({ code: 6, signal: 0 });
    for (const end of [(call: { send(type: number, payload?: Uint8Array): void }) => call.send(FROM_CLIENT.input, bytes("\x04")), null]) {
      const call = await client.start(["cat"], PTY);
      call.send(FROM_CLIENT.input, bytes("line\n"));
      // The echo, and what cat says.
      await call.until("line\r\nline\r\n");
      if (end === null) call.send(FROM_CLIENT.inputEnd);
      else end(call);
      expect(readEnded((await call.finish()).last.payload)).toMatchObject({ code: 0, signal: 0 });
    }
  });

  test("carry job control: ^C ends what runs in the foreground, not the shell", async () => {
    await using client = await createClient(daemon);
    const shell = await client.start(BASH, SHELL);
    shell.send(FROM_CLIENT.input, bytes("sh -c 'echo in${x}side; exec sleep 1000'\n"));
    await shell.until("inside");
    shell.send(FROM_CLIENT.input, bytes("\x03"));
    shell.send(FROM_CLIENT.input, bytes("echo rc=$?\n"));
    await shell.until("rc=130");
    shell.send(FROM_CLIENT.input, bytes("exit 7\n"));
    expect(readEnded((await shell.finish()).last.payload)).toMatchObject({ code: 7 });
  });

  test("hang up: when the client leaves, nothing that runs on it is left", async () => {
    const client = await createClient(daemon);
    const shell = await client.start(BASH, SHELL);
    shell.send(FROM_CLIENT.input, bytes("sleep 1000 & echo pid=$!,do${x}ne\n"));
    const [, pid] = /pid=(\d+),/.exec(await shell.until("done")) ?? [];
    expect(alive(Number(pid))).toBe(true);
    expect((await client.status()).ptys).toBe(1);
    await client[Symbol.asyncDispose]();
    await eventually(() => !alive(Number(pid)) && !alive(shell.pid), "the shell and its child have ended");
  });

  test("lose nothing of long output and input, and no last words", async () => {
    await using client = await createClient(daemon);
    expect((await client.call("seq 100000", PTY)).stdout.split("\r\n")).toHaveLength(100_001);
    for (let i = 0; i < 20; i++) expect((await client.call("echo last words", PTY)).stdout).toBe("last words\r\n");
    const call = await client.start("stty -echo raw; echo ready; head -c 120000 | wc -c", PTY);
    await call.until("ready");
    const counted = call.feed(Buffer.alloc(120_000, "y"), call.credit);
    expect((await counted).stdout.toString()).toContain("120000");
  });

  test("of processes are attached to with a size, and left running", async () => {
    await using client = await createClient(daemon);
    const { id } = await client.process(BASH, SHELL);
    expect((await client.processes()).find((entry) => entry.id === id)).toMatchObject({ pty: 1, input: 1 });
    const attach = (rows: number, columns: number) =>
      client.open(FROM_CLIENT.attach, createWriter().str(id).u16(rows).u16(columns).u32(PLENTY).done());
    const first = attach(40, 99);
    expect(readOpened(await first.take(FROM_DAEMON.opened)).credit).toBeGreaterThan(0);
    first.send(FROM_CLIENT.input, bytes("stty size\n"));
    await first.until("40 99");
    first.send(FROM_CLIENT.resize, u16s(50, 120));
    first.send(FROM_CLIENT.input, bytes("stty size\n"));
    await first.until("50 120");
    first.send(FROM_CLIENT.detach);
    expect((await first.finish()).last.type).toBe(FROM_DAEMON.done);
    const second = attach(0, 0);
    await second.take(FROM_DAEMON.opened);
    second.send(FROM_CLIENT.input, bytes("stty size\n"));
    await second.until("50 120");
    second.send(FROM_CLIENT.inputEnd);
    expect((await second.finish()).last.type).toBe(FROM_DAEMON.ended);
  });
});
