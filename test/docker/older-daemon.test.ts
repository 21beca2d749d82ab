import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { linkThroughSocket } from "../../src/sandbox/drivers/docker/connect.ts";
import { buildDaemon, type DaemonBuild } from "../helpers/daemon.ts";
import { failureOf } from "../helpers/failure-of.ts";
import { callThrough } from "../helpers/older-daemon.ts";
import { containerSpec, describeEngines, type EngineBench, engineBench, LONG } from "./engine-bench.ts";
import { runDirectoryOf } from "./forged-daemon.ts";

/** A container that was used, and now runs a daemon that speaks another version of the protocol. */
async function containerWith(build: DaemonBuild, bench: EngineBench) {
  const first = await bench.process();
  const { sandbox } = await first.acquire(bench.owner(), containerSpec());
  await sandbox.run("export KEPT=yes; cd /usr; for place in /workspace ~ /var; do echo kept >$place/kept; done");
  await first.close();
  await bench.ask("stop", "-t", "5", sandbox.ref.id);
  const bin = join(bench.directory, "sandboxes/docker/bin");
  const [program = ""] = await readdir(bin);
  await writeFile(join(bin, program), await readFile(await buildDaemon(build)));
  await bench.ask("start", sandbox.ref.id);
  const runDir = await runDirectoryOf(bench.placeOf());
  const link = async () => {
    for (;;) {
      const found = await linkThroughSocket(runDir, { clock: systemClock });
      if (found) return found;
    }
  };
  return { ref: sandbox.ref, link, program: join(bin, program) };
}

const LOOK = "echo $KEPT; pwd; cat /workspace/kept ~/kept /var/kept";
const KEPT = { exitCode: 0, stderr: "", stdout: "yes\n/usr\nkept\nkept\nkept\n" };

describeEngines("S19 S20 a container whose daemon is of an earlier version", (engine) => {
  test(
    "goes on with one of this version when nobody needs it: no file and no session is lost, for several who come at once",
    async () => {
      const bench = await engineBench(engine());
      const { ref, link, program } = await containerWith("older", bench);
      const before = await link();
      expect(before.version).toBe(0);
      await before[Symbol.asyncDispose]();
      const leases = await Promise.all([1, 2].map(async () => (await bench.process()).acquire(bench.owner(), containerSpec())));
      for (const { sandbox } of leases) expect(sandbox.ref.id).toBe(ref.id);
      const [first, second] = await Promise.all(leases.map(({ sandbox }) => sandbox.run(LOOK)));
      expect([first, second]).toMatchObject([KEPT, KEPT]);
      expect([first, second].some((result) => result?.restarted)).toBe(true);
      await using after = await link();
      expect(after.version).toBe(1);
      expect(await bench.containers()).toHaveLength(1);
      // And with every start from now on.
      expect((await readFile(program)).equals(await readFile(await buildDaemon("release")))).toBe(true);
    },
    LONG,
  );

  test(
    "is left alone while something runs in it; once it is stopped, as the error says, it goes on with all files",
    async () => {
      const bench = await engineBench(engine());
      const { ref, link } = await containerWith("older", bench);
      await using theirs = await link();
      const call = await callThrough(theirs);
      const acquire = async () => (await bench.process()).acquire(bench.owner(), containerSpec());
      expect(await failureOf(acquire())).toMatchObject({
        code: "daemon-failed",
        message: expect.stringMatching(/earlier version of Holdfast .*in use: a call, another process of Holdfast$/),
        hint: expect.stringContaining("`holdfast sandbox stop --force default` ends what runs at once, and all files stay"),
      });
      await bench.ask("exec", ref.id, "kill", "-0", String(call.pid));
      await (await bench.driver()).stop?.(ref);
      const { sandbox } = await acquire();
      expect(sandbox.ref.id).toBe(ref.id);
      expect(await sandbox.run(LOOK)).toMatchObject({ ...KEPT, restarted: true });
    },
    LONG,
  );

  test(
    "or of a newer one is told, and what it runs goes on",
    async () => {
      const bench = await engineBench(engine());
      const { ref } = await containerWith("newer", bench);
      const { startedAt } = JSON.parse(await bench.ask("inspect", "-f", '{"startedAt":{{json .State.StartedAt}}}', ref.id)) as {
        startedAt: string;
      };
      expect(await failureOf((await bench.process()).acquire(bench.owner(), containerSpec()))).toMatchObject({
        code: "daemon-failed",
        message: expect.stringContaining("newer version of Holdfast"),
        hint: expect.stringContaining("use that version"),
      });
      expect(await bench.ask("inspect", "-f", '{"startedAt":{{json .State.StartedAt}}}', ref.id)).toContain(startedAt);
    },
    LONG,
  );
});
