import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FROM_CLIENT, FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { createWriter } from "../../src/sandbox/daemon/wire.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { failureOf } from "../helpers/failure-of.ts";
import { describeIf } from "../helpers/requirements.ts";
import { forEachTest } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { type Client, createClient } from "./client.ts";
import { FLAG, PLENTY, readEnded, readOpened, str } from "./frames.ts";
import { alive } from "./machine.ts";

const kill = (client: Client, id: string) => client.ask(FROM_CLIENT.killProcess, createWriter().str(id).u32(0).done());
const write = (client: Client, id: string, text: string, end = false) =>
  client.ask(FROM_CLIENT.writeProcess, createWriter().str(id).u8(Number(end)).bytes(Buffer.from(text)).done());
const signal = (client: Client, id: string, number: number) =>
  client.ask(FROM_CLIENT.signalProcess, createWriter().str(id).u8(number).done());
const forget = (client: Client, id: string) => client.ask(FROM_CLIENT.forgetProcess, str(id));
const log = async (client: Client, id: string) => {
  const payload = createWriter().str(id).u64(0).u8(0).u32(PLENTY).done();
  return (await client.open(FROM_CLIENT.readLog, payload).finish()).stdout.toString();
};

describeIf("cc", "S36 processes of holdfastd", () => {
  const scratch = forEachTest(temporaryDirectory);
  const daemon = forEachTest(() => startDaemon(scratch.path));

  test("outlive the client that started them, and are listed with all that is known", async () => {
    const starter = await createClient(daemon);
    const { id, pid } = await starter.process("echo out; echo err >&2; sleep 1000", { name: "my server", shown: "serve --all" });
    expect(id).toMatch(/^p_[0-9a-f]{8}$/);
    await starter[Symbol.asyncDispose]();

    await using client = await createClient(daemon);
    const known = { id, pid, name: "my server", command: "serve --all", ended: false, endedAt: 0, pty: 0, input: 0 };
    expect(await client.processes()).toMatchObject([known]);
    expect(alive(pid)).toBe(true);
    expect((await stat(join(daemon.state, `processes/${id}.log`))).mode & 0o777).toBe(0o600);
    expect(await client.status()).toMatchObject({ processes: 1, calls: 0, lastUsedFor: "process serve --all (test)" });

    const waiting = client.wait(id);
    await kill(client, id);
    expect(alive(pid)).toBe(false);
    expect(await waiting).toMatchObject({ signal: 15, cause: 2 });
    const [after] = await client.processes();
    expect(after).toMatchObject({ ...known, ended: true, endedAt: expect.any(Number), signal: 15, cause: 2, bytes: 8 });
    expect(after?.endedAt).toBeGreaterThanOrEqual(after?.startedAt ?? Number.POSITIVE_INFINITY);
    expect(await log(client, id)).toBe("out\nerr\n");
  });

  test("keep their exit code and output after the end, until they are forgotten", async () => {
    await using client = await createClient(daemon);
    const { id } = await client.process("echo bye; exit 7");
    expect(await client.wait(id)).toMatchObject({ code: 7, signal: 0, cause: 0 });
    expect(await client.wait(id)).toMatchObject({ code: 7 });
    expect(await log(client, id)).toBe("bye\n");
    await kill(client, id);
    await forget(client, id);
    expect(await client.processes()).toEqual([]);
    expect(await readdir(join(daemon.state, "processes"))).toEqual([]);
    await expect(client.wait(id)).rejects.toMatchObject({ errno: 3 });
  });

  test("that are not known or cannot be started are refused", async () => {
    await using client = await createClient(daemon);
    const id = "p_00000000";
    for (const request of [
      kill(client, id),
      write(client, id, "x"),
      signal(client, id, 1),
      forget(client, id),
      log(client, id),
      client.wait(id),
    ]) {
      await expect(request).rejects.toMatchObject({ errno: 3 });
    }
    await expect(client.process(["nonexistent"])).rejects.toMatchObject({ errno: 2 });
    await expect(client.process("true", { cwd: "/nonexistent" })).rejects.toMatchObject({ errno: 2 });
    expect(await client.processes()).toEqual([]);
    expect(await readdir(join(daemon.state, "processes"))).toEqual([]);
  });

  test("end by timeout and signal, and may not be forgotten or signalled at the wrong time", async () => {
    await using client = await createClient(daemon);
    const late = await client.process("sleep 1000", { timeout: 100, grace: 100 });
    expect(await client.wait(late.id)).toMatchObject({ signal: 15, cause: 1 });
    const running = await client.process("sleep 1000");
    await expect(forget(client, running.id)).rejects.toMatchObject({ errno: 16 });
    await signal(client, running.id, 10);
    expect(await client.wait(running.id)).toMatchObject({ signal: 10, cause: 0 });
    await expect(signal(client, running.id, 10)).rejects.toMatchObject({ errno: 3 });
  });

  test("save their state and report as calls do", async () => {
    await using client = await createClient(daemon);
    const { id } = await client.process("printf 'st\\0' >&3; echo rep >&4", { state: join(scratch.path, "kept") });
    expect(await client.wait(id)).toMatchObject({ saved: 1, report: "rep\n" });
  });

  test("take input until it is closed", async () => {
    await using client = await createClient(daemon);
    const { id } = await client.process("cat", { flags: FLAG.input });
    expect(await client.processes()).toMatchObject([{ input: 1 }]);
    await write(client, id, "hello ");
    await write(client, id, "world", true);
    expect(await client.wait(id)).toMatchObject({ code: 0 });
    expect(await log(client, id)).toBe("hello world");
    await expect(write(client, id, "x")).rejects.toMatchObject({ errno: 32 });
    const closed = await client.process("sleep 1000");
    await expect(write(client, closed.id, "x")).rejects.toMatchObject({ errno: 32 });
  });

  test("that do not read their input get no more than 256 KiB of it", async () => {
    await using client = await createClient(daemon);
    const { id } = await client.process("sleep 1000", { flags: FLAG.input });
    const much = "x".repeat(200_000);
    const waiting = failureOf(write(client, id, much));
    await expect(write(client, id, much)).rejects.toMatchObject({ errno: 11 });
    await kill(client, id);
    expect(await waiting).toMatchObject({ errno: 32 });
  });

  test("input that was accepted is written although its sender has left", async () => {
    await using client = await createClient(daemon);
    const { id } = await client.process("read -r _; wc -c", { flags: FLAG.input });
    const sender = await createClient(daemon);
    write(sender, id, `go\n${"x".repeat(150_000)}`, true).catch(() => {});
    await sender.status();
    await sender[Symbol.asyncDispose]();
    expect(await client.wait(id)).toMatchObject({ code: 0 });
    expect((await log(client, id)).trim()).toBe("150000");
  });

  test("can be attached to, and detached from without harm", async () => {
    await using client = await createClient(daemon);
    const { id } = await client.process('echo before; while read -r line; do echo "got $line"; done; echo over', { flags: FLAG.input });
    const attach = () => client.open(FROM_CLIENT.attach, createWriter().str(id).u16(0).u16(0).u32(PLENTY).done());
    const first = attach();
    expect(readOpened(await first.take(FROM_DAEMON.opened)).credit).toBeGreaterThan(0);
    first.send(FROM_CLIENT.input, Buffer.from("one\n"));
    await first.until("got one\n");
    first.send(FROM_CLIENT.detach);
    expect((await first.finish()).last.type).toBe(FROM_DAEMON.done);
    expect(await client.processes()).toMatchObject([{ ended: false }]);
    const second = attach();
    await second.take(FROM_DAEMON.opened);
    second.send(FROM_CLIENT.input, Buffer.from("two\n"));
    second.send(FROM_CLIENT.inputEnd);
    const { last, stdout } = await second.finish();
    expect([last.type, stdout.toString()]).toEqual([FROM_DAEMON.ended, "got two\nover\n"]);
    expect(readEnded(last.payload)).toMatchObject({ code: 0 });
  });

  test("what one left in the background is ended by its kill, or with the daemon", async () => {
    const client = await createClient(daemon);
    const leave = async () => {
      const { id } = await client.process("setsid sleep 1000 & echo $!");
      await client.wait(id);
      return { id, pid: Number(await log(client, id)) };
    };
    const [killed, forgotten] = [await leave(), await leave()];
    await kill(client, killed.id);
    expect(alive(killed.pid)).toBe(false);
    await forget(client, forgotten.id);
    expect(alive(forgotten.pid)).toBe(true);
    await client[Symbol.asyncDispose]();
    await daemon.stop();
    expect(alive(forgotten.pid)).toBe(false);
  });

  test("are at most 64: one more drops the oldest that has ended, or is refused", async () => {
    await using client = await createClient(daemon);
    const first = await client.process("true");
    await client.wait(first.id);
    const running = [];
    for (let i = 0; i < 63; i++) running.push(await client.process(["sleep", "1000"]));
    const another = await client.process(["sleep", "1000"]);
    const ids = (await client.processes()).map(({ id }) => id);
    expect(ids).toEqual([...running.map(({ id }) => id), another.id]);
    await expect(client.process(["sleep", "1000"])).rejects.toMatchObject({ errno: 11 });
    expect(await readdir(join(daemon.state, "processes"))).toHaveLength(64);
    await kill(client, another.id);
    await client.process(["sleep", "1000"]);
    expect((await client.processes()).map(({ id }) => id)).not.toContain(another.id);
  });
});
