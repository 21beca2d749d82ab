import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FROM_CLIENT, FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { createWriter } from "../../src/sandbox/daemon/wire.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { describeIf } from "../helpers/requirements.ts";
import { forSuite } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { type Client, createClient } from "./client.ts";
import { FLAG, PLENTY, readEnded, readOpened, str, u32 } from "./frames.ts";

const numbers = (count: number) => Array.from({ length: count }, (_, i) => `${i + 1}\n`).join("");
const openLog = (client: Client, id: string, options: { offset?: number; follow?: boolean; credit?: number } = {}) => {
  const { offset = 0, follow = false, credit = PLENTY } = options;
  return client.open(FROM_CLIENT.readLog, createWriter().str(id).u64(offset).u8(Number(follow)).u32(credit).done());
};
const readLog = async (client: Client, id: string, offset = 0) => {
  const reading = openLog(client, id, { offset });
  const opened = readOpened(await reading.take(FROM_DAEMON.opened));
  return { offset: opened.offset, text: (await reading.finish()).stdout.toString() };
};

describeIf("cc", "S36 the output of processes", () => {
  const scratch = forSuite(temporaryDirectory);
  const daemon = forSuite(() => startDaemon(scratch.path));

  test("is read from any offset", async () => {
    await using client = await createClient(daemon);
    const { id } = await client.process("echo out; echo err >&2");
    await client.wait(id);
    expect(await readLog(client, id)).toEqual({ offset: 0, text: "out\nerr\n" });
    expect(await readLog(client, id, 4)).toEqual({ offset: 4, text: "err\n" });
    expect(await readLog(client, id, 8)).toEqual({ offset: 8, text: "" });
    expect(await readLog(client, id, 99)).toEqual({ offset: 8, text: "" });
  });

  test("is followed as it comes, to the end of the process", async () => {
    await using client = await createClient(daemon);
    const { id } = await client.process('while read -r line; do echo "$line"; done; exit 3', { flags: FLAG.input });
    const following = openLog(client, id, { follow: true });
    await following.take(FROM_DAEMON.opened);
    const write = (text: string, end: number) =>
      client.ask(FROM_CLIENT.writeProcess, createWriter().str(id).u8(end).bytes(Buffer.from(text)).done());
    await write("one\n", 0);
    expect(await following.until("one\n")).toBe("one\n");
    await write("two\n", 1);
    const { last, stdout } = await following.finish();
    expect([stdout.toString(), readEnded(last.payload).code]).toEqual(["two\n", 3]);
    const again = openLog(client, id, { follow: true, offset: 4 });
    expect((await again.finish()).stdout.toString()).toBe("two\n");
  });

  test("is sent within credit, and following ends on request", async () => {
    await using client = await createClient(daemon);
    const { id } = await client.process("yes");
    const following = openLog(client, id, { follow: true, credit: 100 });
    await following.take(FROM_DAEMON.opened);
    expect(await following.until("y\n".repeat(50))).toHaveLength(100);
    following.send(FROM_CLIENT.detach);
    expect((await following.finish()).stdout).toHaveLength(0);
    await client.ask(FROM_CLIENT.killProcess, createWriter().str(id).u32(0).done());
    const [entry] = (await client.processes()).filter((other) => other.id === id);
    expect((await readLog(client, id)).text).toHaveLength(entry?.bytes ?? -1);
  });

  test("with a cap keeps the newest, with the offsets of all that ever was", async () => {
    await using client = await createClient(daemon);
    const whole = numbers(100_000);
    const { id } = await client.process("seq 100000", { cap: 10_000 });
    await client.wait(id);
    const { offset, text } = await readLog(client, id);
    expect(text).toBe(whole.slice(offset));
    expect(text.length).toBeGreaterThanOrEqual(5000);
    expect(text.length).toBeLessThanOrEqual(10_000);
    expect((await readLog(client, id, whole.length - 10)).text).toBe(whole.slice(-10));
    expect((await client.processes()).find((entry) => entry.id === id)?.bytes).toBe(whole.length);
    const directory = join(daemon.state, "processes");
    const files = (await readdir(directory)).filter((name) => name.startsWith(id));
    const sizes = await Promise.all(files.map(async (name) => (await stat(join(directory, name))).size));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(text.length);
    await client.ask(FROM_CLIENT.forgetProcess, str(id));
    expect((await readdir(directory)).filter((name) => name.startsWith(id))).toEqual([]);
  });

  test("tells a reader that was too slow for a cap where it goes on", async () => {
    await using client = await createClient(daemon);
    const whole = numbers(1000) + numbers(100_000);
    const { id } = await client.process("seq 1000; read -r _; seq 100000", { cap: 20_000, flags: FLAG.input });
    const slow = openLog(client, id, { follow: true, credit: 10 });
    expect(readOpened(await slow.take(FROM_DAEMON.opened)).offset).toBe(0);
    expect(await slow.until("5\n")).toBe(numbers(5));
    await client.ask(FROM_CLIENT.writeProcess, createWriter().str(id).u8(0).bytes(Buffer.from("\n")).done());
    await client.wait(id);
    slow.send(FROM_CLIENT.credit, u32(PLENTY));
    const { offset } = readOpened(await slow.take(FROM_DAEMON.opened));
    expect(offset).toBeGreaterThan(10);
    expect((await slow.finish()).stdout.toString()).toBe(whole.slice(offset));
  });

  test("is no more once its process is forgotten, also for whoever reads it", async () => {
    await using client = await createClient(daemon);
    const { id } = await client.process("echo something");
    await client.wait(id);
    const reading = openLog(client, id, { credit: 0 });
    await reading.take(FROM_DAEMON.opened);
    await client.ask(FROM_CLIENT.forgetProcess, str(id));
    await expect(reading.finish()).rejects.toMatchObject({ errno: 2 });
  });
});
