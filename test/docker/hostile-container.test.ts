import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, chown, lstat, mkdir, readdir, readFile, realpath, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { silentLogger } from "../../src/base/log.ts";
import { FROM_CLIENT, FROM_DAEMON } from "../../src/sandbox/daemon/types.ts";
import { createWriter, encodeFrame } from "../../src/sandbox/daemon/wire.ts";
import { linkThroughSocket } from "../../src/sandbox/drivers/docker/connect.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { withLimits } from "../../src/sandbox/with-limits.ts";
import { type ArchiveEntry, archiveOf } from "../daemon/file-requests.ts";
import { doneFrame, str } from "../daemon/frames.ts";
import { eventually } from "../daemon/machine.ts";
import { createTestCli } from "../helpers/cli.ts";
import { ENGINE_LIMIT_MS, type TestEngine, testEngine } from "../helpers/engine.ts";
import { engineDriver, engineVariables } from "../helpers/engine-harness.ts";
import { BASE_IMAGE, USER_IMAGE } from "../helpers/engine-image.ts";
import { failureOf } from "../helpers/failure-of.ts";
import { createManualClock } from "../helpers/manual-clock.ts";
import { describeIf } from "../helpers/requirements.ts";
import { containerSpec, describeEngines, type EngineBench, engineBench, LONG } from "./engine-bench.ts";
import { createFaucet, entryFrame, type ForgedAnswer, openedFrame, runDirectoryOf, startedFrame, takePlace } from "./forged-daemon.ts";

/** A directory of the host that nothing may change, with what is in it. */
async function sentinelIn(bench: EngineBench) {
  const path = join(bench.directory, "sentinel");
  await mkdir(join(path, "deep"), { recursive: true });
  await writeFile(join(path, "deep", "file"), "whole");
  return {
    path,
    async expectWhole() {
      expect(await readdir(path, { recursive: true })).toEqual(["deep", "deep/file"]);
      expect(await readFile(join(path, "deep", "file"), "utf8")).toBe("whole");
    },
  };
}

describeEngines("code in a container that is hostile", (engine) => {
  test(
    "finds of the host only what it shares: neither holdfastd nor anything beside its own directories can be changed",
    async () => {
      const bench = await engineBench(engine());
      const { sandbox } = await (await bench.process()).acquire(bench.owner(), containerSpec());
      const script = `
        cd /holdfast
        for spoil in 'echo x >holdfastd' 'rm -f holdfastd' 'mv holdfastd other' 'ln -sf /bin/true holdfastd' 'chmod 777 holdfastd' \\
          'mount -o remount,rw /holdfast/holdfastd' 'umount /holdfast/holdfastd' 'mknod /holdfast/run/disk b 8 0' 'rmdir run' 'mv run other'
        do ( eval "$spoil" ) 2>/dev/null && echo "done: $spoil"; done
        ls /holdfast; ls /holdfast/run/..; grep -c ' /holdfast/' /proc/self/mountinfo`;
      const { stdout } = await sandbox.run(script);
      expect(stdout).toBe("holdfastd\nrun\nholdfastd\nrun\n2\n");
      const { Mounts } = await bench.inspect(sandbox.ref.id);
      const shared = Mounts.filter(({ RW }) => RW).map(({ Source }) => Source.replace(bench.placeOf(), ""));
      expect(shared.map((path) => path.replace(/\d{10,}/, "TIME")).sort()).toEqual(["/home", "/run/TIME", "/workspace"]);
      expect(Mounts.filter(({ RW }) => !RW).map(({ Destination }) => Destination)).toEqual(["/holdfast/holdfastd"]);
    },
    LONG,
  );

  test(
    "leaves links, trees without end and odd modes behind, and removing it follows none and takes all",
    async () => {
      const bench = await engineBench(engine());
      const sentinel = await sentinelIn(bench);
      const driver = await bench.driver();
      const { sandbox } = await bench.lifecycle(driver).acquire(bench.owner(), containerSpec());
      const deep = "d".repeat(200);
      const script = `
        for place in /workspace ~ /holdfast/run; do
          cd $place
          ln -s '${sentinel.path}' link; ln -s '${sentinel.path}/deep/file' file; ln -s / root; ln -s ../.. up; ln -s loop loop
          mkdir -p closed/inner; echo x >closed/inner/file; chmod 0 closed/inner closed
          touch -- "$(printf 'a\\nb\\033[2J')" -rf '*' ' '
          mkfifo pipe; touch $'\\xff'
          for ((i = 0; i < 30; i++)); do mkdir ${deep}; cd ${deep} || exit 1; done
        done
        rm -rf /holdfast/run/state/calls; ln -s '${sentinel.path}' /holdfast/run/state/calls`;
      expect(await sandbox.run(script)).toMatchObject({ exitCode: 0, stderr: "" });
      await driver.destroy(sandbox.ref, { purge: true });
      await sentinel.expectWhole();
      expect(existsSync(bench.placeOf())).toBe(false);
      expect(await bench.containers()).toEqual([]);
    },
    LONG,
  );

  /** What one who is not the sandbox's own user can do to it. */
  const INTRUDE = `
    for spoil in 'cat /holdfast/run/secret' 'ls /holdfast/run' 'cat /holdfast/run/socket.lock' 'ls /holdfast/run/state' \\
      'echo x >/holdfast/run/new' 'mv /holdfast/run/socket /holdfast/run/other' 'rm /holdfast/run/socket' \\
      'mv /holdfast/run/state /holdfast/run/other' 'mkdir /holdfast/run/state/evil' 'rm -rf /holdfast/run/secret' \\
      'echo evil >$KEPT_HOME/.bashrc' 'echo evil >/workspace/Makefile' 'mv /workspace/mine /workspace/other'
    do ( eval "$spoil" ) >/dev/null 2>&1 && echo "done: $spoil"; done; true`;

  test.for([
    ["root", BASE_IMAGE, "/root", {}, ["nobody", "someone", "4321:0"]],
    ["root, without holdfastd,", BASE_IMAGE, "/root", {}, ["nobody", "someone"], { daemonProgram: null }],
    ["a user without holdfastd", USER_IMAGE, "/home/someone", {}, ["nobody"], { daemonProgram: null }],
    ["a user whom the image names", USER_IMAGE, "/home/someone", {}, ["nobody", "4321:1000"]],
    ["a user of our arguments", BASE_IMAGE, "/root", { extraArgs: ["--user=someone"] }, ["nobody", "4321"]],
    ["root, whose files are not kept", BASE_IMAGE, "/root", { keepFiles: false }, ["nobody", "someone"]],
    ["a user whose files are not kept", USER_IMAGE, "/home/someone", { keepFiles: false }, ["nobody"]],
  ] as const)(
    "as another user than %s finds neither secret nor socket nor state, and leaves nothing in home and workspace",
    {
      timeout: LONG,
    },
    async ([, image, home, changes, others, options]) => {
      const bench = await engineBench(engine());
      const open = async () => bench.lifecycle(await bench.driver(options)).acquire(bench.owner(), containerSpec({ image, ...changes }));
      const { sandbox } = await open();
      const first = await sandbox.run("export KEPT=yes; cd /workspace && touch mine && touch ~/mine && ls /holdfast/run");
      expect(first).toMatchObject({ exitCode: 0, stderr: "" });
      const intrude = async (when: string) => {
        for (const user of others)
          expect(
            await bench.ask("exec", "-u", user, "-e", `KEPT_HOME=${home}`, sandbox.ref.id, "sh", "-c", INTRUDE),
            `${user}, ${when}`,
          ).toBe("");
      };
      await intrude("at once");
      // The door is made anew with every start, and what the host has closed stays so.
      await bench.ask("restart", "-t", "1", sandbox.ref.id);
      const { sandbox: again } = await open();
      expect(await again.run("echo $KEPT; touch ~/mine /workspace/mine")).toMatchObject({ exitCode: 0, stdout: "yes\n", stderr: "" });
      await intrude("when it was started again");
    },
  );

  test.for([
    ["root", BASE_IMAGE, "/root", ["nobody", "someone"]],
    ["a user whom the image names", USER_IMAGE, "/home/someone", ["nobody"]],
  ] as const)(
    "as another user than %s is shut out of what an earlier version has made, once somebody comes to it",
    {
      timeout: LONG,
    },
    async ([, image, home, others]) => {
      const bench = await engineBench(engine());
      const lifecycle = await bench.process();
      const { sandbox } = await lifecycle.acquire(bench.owner(), containerSpec({ image }));
      await sandbox.run("export KEPT=yes; chmod 755 /holdfast; touch /workspace/mine");
      const runDir = await runDirectoryOf(bench.placeOf());
      // As it was: open to all, with no door before it.
      for (const [path, mode] of [
        [runDir, 0o777],
        [join(runDir, "secret"), 0o644],
        [join(bench.placeOf(), "workspace"), 0o777],
        [join(bench.placeOf(), "home"), 0o777],
      ] as const) {
        await chown(path, 0, 0);
        await chmod(path, mode);
      }
      const read = ["exec", "-u", "nobody", sandbox.ref.id, "sh", "-c", "wc -c </holdfast/run/secret"];
      expect(await bench.ask(...read)).toBe("64");
      const { sandbox: found } = await (await bench.process()).acquire(bench.owner(), containerSpec({ image }));
      for (const user of others)
        expect(await bench.ask("exec", "-u", user, "-e", `KEPT_HOME=${home}`, sandbox.ref.id, "sh", "-c", INTRUDE), user).toBe("");
      expect(await found.run("echo $KEPT; touch ~/new /workspace/mine")).toMatchObject({ exitCode: 0, stdout: "yes\n", stderr: "" });
    },
  );

  test(
    "stops the daemon, takes its socket and floods whoever comes: they are told, and the sandbox can be removed",
    async () => {
      const bench = await engineBench(engine());
      const { sandbox } = await (await bench.process()).acquire(bench.owner(), containerSpec());
      const flood = `
        use strict; use Socket;
        my $path = "/holdfast/run/socket";
        open(my $proc, "-|", "cat /proc/[0-9]*/stat") or die;
        my ($daemon) = map { /^(\\d+) \\(holdfastd\\)/ ? $1 : () } <$proc>;
        kill "STOP", $daemon or die;
        unlink $path; socket(my $server, PF_UNIX, SOCK_STREAM, 0) or die; bind($server, sockaddr_un("$path.new")) or die; listen($server, 9) or die;
        rename "$path.new", $path; open(my $mark, ">", "/workspace/taken"); close $mark;
        $SIG{PIPE} = "IGNORE"; my $piece = "x" x 65536;
        while (accept(my $client, $server)) { while (defined syswrite($client, $piece)) {} close $client; }`;
      await writeFile(join(bench.placeOf(), "workspace", "flood"), flood);
      // Whoever started it waits in vain: the daemon that would tell of its end has been stopped.
      sandbox.run("setsid perl /workspace/flood").catch(() => {});
      await eventually(() => existsSync(join(bench.placeOf(), "workspace", "taken")), "the socket was taken");
      const other = await bench.driver();
      for (let round = 0; round < 3; round++) await expect(other.connect(sandbox.ref)).rejects.toMatchObject({ code: "daemon-failed" });
      // It would be given ten seconds to stop.
      await bench.ask("kill", sandbox.ref.id);
      await other.destroy(sandbox.ref, { purge: true });
      expect(existsSync(bench.placeOf())).toBe(false);
    },
    LONG,
  );
});

describeIf(["cc", "dockerd", "mmdebstrap"], "what a container can put in place of what it shares", () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await testEngine();
  }, ENGINE_LIMIT_MS);

  /** A sandbox that nobody holds. */
  const victim = async () => {
    const bench = await engineBench(engine);
    const lifecycle = await bench.process();
    const { sandbox } = await lifecycle.acquire(bench.owner(), containerSpec());
    await lifecycle.close();
    return { bench, ref: sandbox.ref, runDir: await runDirectoryOf(bench.placeOf()) };
  };
  /** A sandbox of which a program in it plays the daemon. */
  const forged = async (answer: ForgedAnswer, clock = systemClock) => {
    const { bench, ref, runDir } = await victim();
    const daemon = await takePlace(runDir, answer);
    const driver = await engineDriver(engine, bench.directory, { clock });
    const open = async (): Promise<Sandbox> => (await bench.lifecycle(driver, { clock }).acquire(bench.owner(), containerSpec())).sandbox;
    return { bench, ref, runDir, daemon, driver, open };
  };

  const cliVariables = () => engineVariables(engine);

  test(
    "is no socket, no file and no link that the host would follow, wait for or read to the end",
    async () => {
      const { bench, ref, runDir } = await victim();
      const sentinel = await sentinelIn(bench);
      let heard = 0;
      const others = createServer((stream) => {
        heard++;
        stream.destroy();
      });
      await new Promise<void>((resolve) => others.listen(join(bench.directory, "others"), resolve));
      onTestFinished(() => void others.close());
      const driver = await bench.driver();
      const kept = join(bench.directory, "kept");
      const places: Record<string, (path: string) => unknown> = {
        "a link to another socket": (path) => symlink(join(bench.directory, "others"), path),
        "a relative link to another socket": (path) => symlink("../../../../../../../others", path),
        "a link to what was there": (path) => symlink(kept, path),
        "a link to a file": (path) => symlink(join(sentinel.path, "deep/file"), path),
        "a link to a device": (path) => symlink("/dev/zero", path),
        "a link to itself": (path) => symlink(path, path),
        "a file": (path) => writeFile(path, "not that"),
        "a file that is huge": (path) => writeFile(path, "").then(() => truncate(path, 2 ** 38)),
        "a named pipe": (path) => execFileSync("mkfifo", [path]),
        "a directory": (path) => mkdir(path),
      };
      for (const name of ["socket", "secret"]) {
        // A socket that answers, so that the secret is asked for.
        if (name === "secret") await takePlace(runDir);
        for (const [what, put] of Object.entries(places)) {
          const path = join(runDir, name);
          await rename(path, kept);
          await put(path);
          const linking = linkThroughSocket(runDir, { clock: systemClock });
          expect(await failureOf(linking), `${what} as ${name}`).toMatchObject({ code: "daemon-failed" });
          expect(await driver.attach?.(bench.owner())).toBeNull();
          await rm(path, { recursive: true });
          await rename(kept, path);
        }
      }
      expect(heard).toBe(0);
      await driver.destroy(ref, { purge: true });
      await sentinel.expectWhole();
    },
    LONG,
  );

  test(
    "may be a daemon that never answers: opening it ends in time",
    async () => {
      const { bench, driver, daemon } = await forged(({ type }) => type === FROM_CLIENT.mkdir);
      const limited = withLimits(driver, { clock: systemClock, log: silentLogger, limits: { timeMs: { attach: 500 } } });
      await expect(limited.attach?.(bench.owner())).rejects.toMatchObject({ code: "operation-timeout" });
      expect(daemon.heard).toEqual([FROM_CLIENT.mkdir]);
    },
    LONG,
  );

  test.for([
    ["the look for a session", FROM_CLIENT.list],
    ["the start of a command", FROM_CLIENT.start],
  ] as const)("may be a daemon that does not answer %s: the call ends in time", { timeout: LONG }, async ([, silent]) => {
    const clock = createManualClock();
    const { open, daemon } = await forged(({ type }) => type === silent, clock);
    const sandbox = await open();
    const failed = failureOf(sandbox.run("true"));
    await eventually(() => daemon.heard.includes(silent), "the question was asked");
    await clock.advance(60_000);
    expect(await failed).toMatchObject({ code: "sandbox-lost" });
  });

  test.for([
    ["what keeps it busy", FROM_CLIENT.status],
    ["which processes it has", FROM_CLIENT.processes],
  ] as const)("may be a daemon that does not say %s: whoever asks is told in time", { timeout: LONG }, async ([, silent]) => {
    const clock = createManualClock();
    const { open, daemon } = await forged(({ type }) => type === silent, clock);
    const sandbox = await open();
    const failed = failureOf(silent === FROM_CLIENT.status ? sandbox.status() : sandbox.processes.list());
    await eventually(() => daemon.heard.includes(silent), "the question was asked");
    await clock.advance(60_000);
    expect(await failed).toMatchObject({ code: "sandbox-lost" });
  });

  test(
    "may be a daemon that lets nobody go: whoever gives up is free in time",
    async () => {
      const clock = createManualClock();
      const { open, daemon } = await forged(({ type }) => type === FROM_CLIENT.readFile || type === FROM_CLIENT.detach, clock);
      const sandbox = await open();
      const patience = new AbortController();
      const reading = failureOf(sandbox.files.read("/etc/hostname", { signal: patience.signal }));
      await eventually(() => daemon.heard.includes(FROM_CLIENT.readFile), "the question was asked");
      patience.abort();
      await clock.advance(60_000);
      expect(await reading).toMatchObject({ code: "sandbox-lost" });
    },
    LONG,
  );

  test(
    "may send without end: as a file that says it is small, as the state of a session, as output",
    async () => {
      const faucet = createFaucet();
      let small = false;
      let killed = 0;
      const { open } = await forged((frame, say) => {
        const { type, channel } = frame;
        if (type === FROM_CLIENT.readFile) {
          say(openedFrame(channel, 10));
          if (small) say(doneFrame(channel));
          else faucet.open(channel, say);
          return true;
        }
        if (type === FROM_CLIENT.start) {
          say(startedFrame(channel));
          faucet.open(channel, say);
          return true;
        }
        if (type === FROM_CLIENT.kill) {
          killed = channel;
          say(encodeFrame(FROM_DAEMON.ended, channel, createWriter().u8(0).u8(9).u8(2).u8(0).str("started\0").str("").done()));
          return true;
        }
        return channel === killed || faucet.granted(frame, say);
      });
      const sandbox = await open();
      await expect(sandbox.files.read("/etc/hostname", { maxBytes: 1000 })).rejects.toMatchObject({ code: "too-large" });
      const before = faucet.sent;
      await expect(sandbox.sessions.list()).rejects.toMatchObject({ code: "state-unreadable" });
      expect(faucet.sent - before).toBeLessThan(32 * 1024 * 1024);
      small = true;
      const result = await sandbox.run("true", { timeoutMs: 500 });
      expect(result).toMatchObject({ timedOut: true, exitCode: 124 });
      expect(result.stdout.length).toBeLessThan(60_000);
    },
    LONG,
  );

  test(
    "may ask the host to run, read and write something: it is no answer to anything, and the line is cut",
    async () => {
      let kind = 0;
      const { open, daemon } = await forged(({ type, channel }, say) => {
        if (type !== FROM_CLIENT.stat) return false;
        say(encodeFrame(kind, channel, str("/tmp/holdfast-evil")), encodeFrame(kind, 99, str("/tmp/holdfast-evil")));
        return true;
      });
      for (kind of [FROM_CLIENT.start, FROM_CLIENT.readFile, FROM_CLIENT.writeFile, FROM_CLIENT.tarIn, FROM_CLIENT.remove]) {
        const sandbox = await open();
        await expect(sandbox.files.stat("/")).rejects.toMatchObject({ code: "protocol" });
        expect(daemon.heard.at(-1)).toBe(FROM_CLIENT.stat);
      }
      expect(existsSync("/tmp/holdfast-evil")).toBe(false);
    },
    LONG,
  );

  test(
    "may send trees that lead out: nothing is written but below the directory that was asked for",
    async () => {
      const link = (name: string, linkname: string): ArchiveEntry => [{ name, type: "symlink", linkname }];
      const archives: readonly (readonly ArchiveEntry[])[] = [
        [[{ name: "../evil" }, "x"]],
        [[{ name: "/tmp/holdfast-evil" }, "x"]],
        [[{ name: "a/../../evil" }, "x"]],
        [link("l", "../sentinel/deep"), [{ name: "l/evil" }, "x"]],
        [[{ name: "d", type: "directory" }], link("l", "d"), link("l/m", ".."), [{ name: "l/m/evil" }, "x"]],
        [[{ name: "h", type: "link", linkname: "../sentinel/deep/file" }], [{ name: "h" }, "x"]],
        [link("f", "../sentinel/deep/file"), [{ name: "f" }, "x"]],
        [[{ name: "device", type: "character-device" }], [{ name: "pipe", type: "fifo" }]],
      ];
      let next = 0;
      const bytes = await Promise.all(archives.map((entries) => archiveOf(...entries)));
      const { open, bench } = await forged(({ type, channel }, say) => {
        if (type !== FROM_CLIENT.tarOut) return false;
        const archive = bytes[next++] ?? Buffer.alloc(0);
        say(openedFrame(channel), encodeFrame(FROM_DAEMON.output, channel, Buffer.concat([Buffer.of(1), archive])), doneFrame(channel));
        return true;
      });
      const sentinel = await sentinelIn(bench);
      const before = await readdir(bench.directory);
      const sandbox = await open();
      for (const _ of archives) {
        const target = join(bench.directory, "target");
        // Refused or with those entries left out: what lies where is what counts.
        await sandbox.files.getTree("/workspace", target).catch((error: unknown) => expect(error).toHaveProperty("code"));
        for (const name of existsSync(target) ? await readdir(target, { recursive: true }) : []) {
          const facts = await lstat(join(target, name));
          expect([facts.isFile() ? facts.nlink : 1, facts.isFile() || facts.isDirectory() ? facts.mode & 0o7000 : 0], name).toEqual([1, 0]);
          expect(`${await realpath(join(target, name))}/`).toMatch(new RegExp(`^${target}/`));
        }
        await rm(target, { recursive: true, force: true });
        await sentinel.expectWhole();
        expect(await readdir(bench.directory)).toEqual(before);
      }
      expect(next).toBe(archives.length);
      expect(existsSync("/tmp/holdfast-evil")).toBe(false);
    },
    LONG,
  );

  test(
    "may be its own home: it cannot choose under which name that is copied to the host",
    async () => {
      await using cli = await createTestCli();
      const env = cliVariables();
      try {
        await cli.run(["exec", "--", "echo evil >/tmp/.profile; export HOME=/tmp/.profile"], { env });
        const { status } = await cli.run(["cp", ":~", cli.directory], { env });
        expect(status).not.toBe(0);
        expect(await readdir(cli.directory)).toEqual([]);
        await cli.run(["exec", "--", "mkdir /tmp/.ssh; echo evil >/tmp/.ssh/config; export HOME=/tmp/.ssh"], { env });
        await cli.run(["cp", ":~", cli.directory], { env });
        expect(await readdir(cli.directory)).toEqual(["config"]);
      } finally {
        await cli.run(["sandbox", "rm", "--force", "default"], { env });
      }
    },
    LONG,
  );

  test(
    "may give things names that command a terminal: people see them, terminals do not",
    async () => {
      const evil = "\u001b]0;owned\u0007\u009b2J\r\nroot\u202e";
      await using cli = await createTestCli();
      const env = cliVariables();
      onTestFinished(async () => {
        await engine.run(["rm", "-f", "-v", id]);
      });
      const { id } = await cli.run(["exec", "--", "true"], { env }).then(() => cli.json<{ id: string }>(["sandbox", "inspect"], { env }));
      const install = (await readFile(join(cli.home, "install-id"), "utf8")).trim();
      // Or it would end when it sees that its socket is gone, and the container with it.
      expect((await engine.run(["exec", id, "pkill", "-STOP", "holdfastd"])).code).toBe(0);
      await takePlace(await runDirectoryOf(join(cli.home, "sandboxes/docker", install, "default/default")), ({ type, channel }, say) => {
        const process = () =>
          createWriter().str(evil).str(evil).u32(1).u8(0).u8(0).u8(0).u8(0).u8(0).u8(0).u64(0).u64(0).u64(0).str(evil).done();
        const status = () => createWriter().u64(0).u64(0).u32(0).u32(0).u32(0).u32(0).u32(0).str(evil).u32(1).str(evil).u64(0).done();
        if (type === FROM_CLIENT.processes) say(encodeFrame(FROM_DAEMON.process, channel, process()), doneFrame(channel));
        else if (type === FROM_CLIENT.status) say(encodeFrame(FROM_DAEMON.status, channel, status()), doneFrame(channel));
        else if (type === FROM_CLIENT.list) say(entryFrame(channel, evil, 2), entryFrame(channel, "state"), doneFrame(channel));
        else if (type === FROM_CLIENT.stat)
          say(encodeFrame(FROM_DAEMON.failed, channel, createWriter().u32(13).str(`${evil}: ${evil}`).done()));
        else if (type === FROM_CLIENT.readFile)
          say(
            openedFrame(channel),
            encodeFrame(
              FROM_DAEMON.output,
              channel,
              Buffer.concat([Buffer.of(1), Buffer.from("__holdfast_saved_cwd=$'/\\E[2J\\r\\u202e'\n")]),
            ),
            doneFrame(channel),
          );
        else return false;
        return true;
      });
      const shown: string[] = [];
      for (const line of [
        "process ls",
        "process ls --json",
        "session ls",
        "session ls --json",
        "sandbox inspect",
        "cp :/file -",
        "--debug cp :/file -",
      ]) {
        const { stdout, stderr } = await cli.run(line.split(" "), { env });
        shown.push(stdout + stderr);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what must not be there.
        expect(stdout + stderr, line).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
      }
      expect(shown.filter((text) => text.includes("owned")).length).toBeGreaterThan(4);
      expect(await cli.run(["sandbox", "rm", "--force", "default"], { env })).toMatchObject({ status: 0 });
      expect((await engine.run(["container", "inspect", id])).code).not.toBe(0);
    },
    LONG,
  );
});
