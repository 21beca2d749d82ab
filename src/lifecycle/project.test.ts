import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildDaemon } from "../../test/helpers/daemon.ts";
import { failureOf } from "../../test/helpers/failure-of.ts";
import { describeIf } from "../../test/helpers/requirements.ts";
import { type Bench, createBench, FLEETING, ownerOf, PERSISTENT } from "../../test/services/lifecycle-bench.ts";
import { createDriver } from "../sandbox/drivers/local/driver.ts";
import type { Lease } from "./lease.ts";

const owner = ownerOf("t1");

describeIf("cc", "a lease on a sandbox with a daemon", () => {
  const open = async (spec = FLEETING) => {
    const daemonProgram = await buildDaemon("release");
    const bench = createBench({ createDriver: (context) => createDriver({ ...context, daemonProgram }) });
    return { bench, lease: await bench.lifecycle.acquire(owner, spec) };
  };
  /** Gives the sandbox up, and proves that it stays until `end` has ended the use. */
  const staysUntil = async ({ bench, lease }: { bench: Bench; lease: Lease }, end: () => unknown) => {
    const gone = lease.cleanup();
    expect(bench.asked).not.toContain("destroy t1");
    await end();
    await gone;
    expect(bench.asked).toContain("destroy t1");
  };

  test("S27 output that is followed keeps the sandbox until the reader stops", async () => {
    const opened = await open();
    const { processes } = opened.lease.sandbox;
    const { id } = await processes.start("echo begun; sleep 1000");
    const reader = processes.logs(id, { follow: true })[Symbol.asyncIterator]();
    expect(Buffer.from((await reader.next()).value?.bytes ?? "").toString()).toBe("begun\n");
    await staysUntil(opened, () => reader.return?.());
  });

  test("S27 an attachment keeps the sandbox until it is let go of", async () => {
    const opened = await open();
    const { processes } = opened.lease.sandbox;
    const { id } = await processes.start("sleep 1000");
    const line = await processes.attach(id, { onOutput() {} });
    await staysUntil(opened, () => line.detach());
    expect(await line.ended).toBe(null);
  });

  test("S27 a stream of a file keeps the sandbox until it is closed", async () => {
    const opened = await open();
    const { sandbox } = opened.lease;
    const path = join((await sandbox.run("pwd")).stdout.trim(), "large");
    writeFileSync(path, "");
    truncateSync(path, 64 * 1024 * 1024);
    const stream = await sandbox.files.readStream(path);
    await staysUntil(opened, () => stream.destroy());
  });

  test("S20 in a sandbox that was removed from outside, requests go on in the new one; its processes are not there", async () => {
    const { bench, lease } = await open(PERSISTENT);
    const { processes, files } = lease.sandbox;
    const { id } = await processes.start("sleep 1000");
    const before = lease.sandbox.ref.id;
    for (const ref of await bench.existing("t1")) await bench.anotherDriver().destroy(ref);
    expect(await files.stat("/")).toMatchObject({ kind: "directory" });
    expect(lease.sandbox.ref.id).not.toBe(before);
    expect(await processes.list()).toEqual([]);
    expect(await failureOf(processes.get(id))).toMatchObject({ code: "process-not-found" });
    expect((await lease.sandbox.run("true")).replaced?.lost).toContain("all background processes");
  });

  test("S20 reading begins again in the new sandbox, if nothing was read yet", async () => {
    const { bench, lease } = await open(PERSISTENT);
    const { processes } = lease.sandbox;
    await processes.list();
    for (const ref of await bench.existing("t1")) await bench.anotherDriver().destroy(ref);
    const reader = processes.logs("p_00000000")[Symbol.asyncIterator]();
    expect(await failureOf(reader.next())).toMatchObject({ code: "process-not-found" });
  });
});
