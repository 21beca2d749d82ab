import { connect } from "node:net";
import { expect, test } from "vitest";
import { FROM_CLIENT, FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { encodeFrame } from "../../src/sandbox/daemon/wire.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { failureOf } from "../helpers/failure-of.ts";
import { describeIf } from "../helpers/requirements.ts";
import { forEachTest } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { createClient } from "./client.ts";
import { FLAG, PLENTY, startPayload, str } from "./frames.ts";
import { childrenOf, descriptorsOf, eventually, memoryOf } from "./machine.ts";
import { connectProven, connectRaw } from "./raw.ts";

const EAGAIN = 11;
const EMFILE = 24;
const GROWTH_KIB = 8 * 1024;

describeIf("cc", "what holdfastd never takes more of", () => {
  const scratch = forEachTest(temporaryDirectory);

  test("clients that do not read cost little memory, and others are served", async () => {
    await using daemon = await startDaemon(scratch.path, { build: "release" });
    const before = memoryOf(daemon.pid);
    const deaf = await connectProven(daemon);
    deaf.stream.pause();
    for (let channel = 1; channel <= 20; channel++) {
      deaf.stream.write(encodeFrame(FROM_CLIENT.start, channel, startPayload("yes", { credit: PLENTY })));
    }
    const asking = await connectProven(daemon);
    asking.stream.pause();
    asking.stream.write(Buffer.concat(Array.from({ length: 50_000 }, (_, i) => encodeFrame(FROM_CLIENT.status, i + 1))));
    await using other = await createClient(daemon);
    for (let i = 0; i < 20; i++) {
      expect((await other.call("sleep 0.05; echo served")).stdout).toBe("served\n");
      expect(memoryOf(daemon.pid) - before).toBeLessThan(GROWTH_KIB);
    }
    deaf.vanish();
    asking.vanish();
    await eventually(() => childrenOf(daemon.pid).length === 0, "their calls have ended");
  });

  test("input in tiny pieces costs no more than its bytes", async () => {
    await using daemon = await startDaemon(scratch.path, { build: "release" });
    await using client = await createClient(daemon);
    const before = memoryOf(daemon.pid);
    const call = await client.start("sleep 1000", { flags: FLAG.input });
    // The pipe takes this, and nothing after it.
    call.send(FROM_CLIENT.input, Buffer.alloc(65_536));
    await call.take(FROM_DAEMON.inputCredit);
    for (let i = 0; i < 65_536; i++) call.send(FROM_CLIENT.input, Buffer.from("x"));
    for (let i = 0; i < 1000; i++) call.send(FROM_CLIENT.input, Buffer.alloc(0));
    const pty = await client.start("exec sleep 1000", { flags: FLAG.pty });
    for (let i = 0; i < 50_000; i++) pty.send(FROM_CLIENT.inputEnd);
    expect((await client.status()).calls).toBe(2);
    expect(memoryOf(daemon.pid) - before).toBeLessThan(GROWTH_KIB);
  });

  test("4,096 channels are open at most", async () => {
    await using daemon = await startDaemon(scratch.path);
    await using client = await createClient(daemon);
    const { id } = await client.process(["sleep", "1000"]);
    const waiting = Array.from({ length: 4200 }, () => client.open(FROM_CLIENT.wait, str(id)));
    const refused = await Promise.all(waiting.slice(4096).map((one) => failureOf(one.finish())));
    expect(refused).toHaveLength(104);
    for (const error of refused) expect(error).toMatchObject({ errno: EAGAIN });
    for (const one of waiting.slice(0, 4096)) one.send(FROM_CLIENT.detach);
    await Promise.all(waiting.slice(0, 4096).map((one) => one.finish()));
    expect((await client.call("echo on")).stdout).toBe("on\n");
  });

  test("1,024 connections are open at most", async () => {
    await using daemon = await startDaemon(scratch.path);
    const clients = [];
    for (let i = 0; i < 1023; i++) clients.push(await connectRaw(daemon));
    const last = await createClient(daemon);
    expect((await last.status()).leases).toBe(1);
    const refused = await connectRaw(daemon);
    expect(await refused.hungUp()).toEqual([]);
    for (const client of clients) client.vanish();
    await last[Symbol.asyncDispose]();
    await eventually(() => descriptorsOf(daemon.pid) < 25, "all descriptors are closed");
    await using client = await createClient(daemon);
    expect((await client.call("echo on")).stdout).toBe("on\n");
  });

  test("512 leases are told at most, and all are counted", async () => {
    await using daemon = await startDaemon(scratch.path);
    const clients = [];
    for (let i = 0; i < 600; i++) clients.push(await connectProven(daemon));
    await using client = await createClient(daemon);
    const { leases, labels } = await client.status();
    expect([leases, labels.length]).toEqual([601, 512]);
    for (const other of clients) other.vanish();
  });

  test("out of descriptors it refuses what it cannot do, and goes on as soon as it can", async () => {
    await using daemon = await startDaemon(scratch.path, { under: ["prlimit", "--nofile=64:64"] });
    const client = await createClient(daemon);
    const results = await Promise.all(
      Array.from({ length: 40 }, () =>
        client.start("sleep 1000").then(
          () => 0,
          (error) => error.errno,
        ),
      ),
    );
    expect(new Set(results)).toEqual(new Set([0, EMFILE]));
    expect((await client.status()).calls).toBe(results.filter((errno) => errno === 0).length);
    // They wait at the door until there is room.
    const waiting = Array.from({ length: 30 }, () => connect(daemon.socket));
    await client.status();
    for (const stream of waiting) stream.destroy();
    await client[Symbol.asyncDispose]();
    await eventually(() => childrenOf(daemon.pid).length === 0, "all calls have ended");
    await using again = await createClient(daemon);
    expect((await again.call("echo on")).stdout).toBe("on\n");
  });
});
