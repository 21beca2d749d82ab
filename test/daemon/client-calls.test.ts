import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { type DaemonCommand, startCall } from "../../src/sandbox/daemon/calls.ts";
import { type DaemonLink, linkDaemon } from "../../src/sandbox/daemon/link.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { describeIf } from "../helpers/requirements.ts";
import { forSuite } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { alive } from "./machine.ts";

describeIf("cc", "the client of holdfastd", () => {
  const scratch = forSuite(temporaryDirectory);
  const daemon = forSuite(() => startDaemon(scratch.path, { env: { OWN: "the daemon's", BOTH: "the daemon's" } }));

  /** Runs a command to its end and gives all it wrote. */
  const run = async (link: DaemonLink, script: string, { input, ...options }: Partial<DaemonCommand> & { input?: string } = {}) => {
    const chunks: Buffer[] = [];
    const child = await startCall(link, {
      argv: ["bash", "--norc", "-c", script],
      env: { PATH: process.env.PATH ?? "" },
      cwd: scratch.path,
      stdin: input === undefined ? "none" : "pipe",
      merge: false,
      shown: "test",
      stateFile: null,
      onOutput: (chunk) => void chunks.push(Buffer.from(chunk)),
      ...options,
    });
    child.stdin?.end(input);
    return { end: await child.ended, output: Buffer.concat(chunks).toString() };
  };

  test("runs a command and tells its output and end", async () => {
    await using link = await daemon.link();
    const { end, output } = await run(link, 'echo "$PWD"; cat; exit 3', { input: "input" });
    expect(output).toBe(`${scratch.path}\ninput`);
    expect(end).toMatchObject({ exitCode: 3, signal: null, unsaved: null });
  });

  test("gives a command the daemon's own environment too, if asked to", async () => {
    await using link = await daemon.link();
    const show = 'echo "${OWN-none}, ${BOTH-none}, ${GIVEN-none}"';
    const env = { PATH: process.env.PATH ?? "", BOTH: "given", GIVEN: "given" };
    expect((await run(link, show, { env, inherit: true })).output).toBe("the daemon's, given, given\n");
    expect((await run(link, show, { env })).output).toBe("none, given, given\n");
  });

  test("S34 hands over a long output whole, within its window", async () => {
    await using link = await daemon.link();
    let bytes = 0;
    const onOutput = (chunk: Uint8Array) => {
      bytes += chunk.length;
      return new Promise<void>((resolve) => setImmediate(resolve));
    };
    await run(link, "head -c 20000000 /dev/zero", { onOutput });
    expect(bytes).toBe(20_000_000);
  });

  test("S35 sends a long input, as fast as the command reads it", async () => {
    await using link = await daemon.link();
    expect((await run(link, "wc -c", { input: "x".repeat(5_000_000) })).output).toBe("5000000\n");
    expect((await run(link, "head -c 1", { input: "x".repeat(5_000_000) })).output).toBe("x");
  });

  test("S33 kills the whole tree of a call", async () => {
    await using link = await daemon.link();
    const pid = Promise.withResolvers<number>();
    const child = await startCall(link, {
      argv: ["bash", "-c", "(env -i setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000; sleep 1000' &) ; sleep 1000"],
      env: { PATH: process.env.PATH ?? "" },
      cwd: "/",
      stdin: "none",
      merge: false,
      shown: "test",
      stateFile: null,
      onOutput: (chunk) => pid.resolve(Number(Buffer.from(chunk).toString())),
    });
    const detached = await pid.promise;
    await child.kill({ graceMs: 100 });
    expect(await child.ended).toMatchObject({ signal: "SIGTERM" });
    expect(alive(detached)).toBe(false);
  });

  test("says why a program cannot be started", async () => {
    await using link = await daemon.link();
    await expect(run(link, "", { argv: ["/does/not/exist"] })).rejects.toMatchObject({ code: "spawn-failed" });
  });

  test("gets nothing without the secret", async () => {
    const stranger = linkDaemon(connect(daemon.socket), { secret: randomBytes(32), label: "test", clock: systemClock });
    await expect(stranger).rejects.toMatchObject({ code: "protocol" });
  });
});
