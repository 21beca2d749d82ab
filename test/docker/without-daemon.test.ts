import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { randomId } from "../../src/base/ids.ts";
import type { Connection } from "../../src/sandbox/driver.ts";
import { alive, collect, createTranscript, printed } from "../helpers/collect.ts";
import type { TestEngine } from "../helpers/engine.ts";
import { engineDriver } from "../helpers/engine-harness.ts";
import { imageArchive } from "../helpers/engine-image.ts";
import { containerSpec, describeEngines, engineBench, LONG } from "./engine-bench.ts";

const LOSS = "the sandbox runs without holdfastd";

describeEngines("containers without holdfastd", (engine) => {
  test(
    "S18 S33 a timeout ends the whole tree inside; what an earlier call left in the background, and still writes, lives on",
    async () => {
      const bench = await engineBench(engine());
      const lifecycle = bench.lifecycle(await bench.driver({ daemonProgram: null }));
      const { sandbox } = await lifecycle.acquire(bench.owner(), containerSpec());
      const left = await sandbox.run("(while sleep 0.1; do echo word; done) & echo $!");
      const hidden =
        "(setsid nohup bash -c 'echo $$; exec sleep 1000' &); env -i setsid bash -c 'trap \"\" TERM; echo $$; sleep 1000' & echo $$; wait";
      const timedOut = await sandbox.run(hidden, { timeoutMs: 3_000 });
      expect(timedOut).toMatchObject({ exitCode: 124, timedOut: true });
      const pids = timedOut.stdout.match(/\d+/g) ?? [];
      expect(pids).toHaveLength(3);

      const other = await bench.driver({ daemonProgram: null });
      await using connection = await other.connect(sandbox.ref);
      expect(await alive(connection, pids)).toEqual([]);
      expect(await alive(connection, [left.stdout.trim()])).toEqual([left.stdout.trim()]);
      expect(bench.logged.filter(({ message }) => message.includes(LOSS))).toHaveLength(1);
    },
    LONG,
  );

  test(
    "S10 no value of a variable is in any list of arguments, inside or outside, whatever its name means to the client",
    async () => {
      const bench = await engineBench(engine());
      const variables = { FORWARDED: `forwarded-${randomId()}` };
      const driver = await bench.driver({ daemonProgram: null, variables, settings: { docker_forward_env: ["FORWARDED"] } });
      await using connection = await driver.connect(await driver.create(bench.owner(), containerSpec()));
      const names = ["PLAIN", "DOCKER_HOST", "HTTPS_PROXY", "LD_PRELOAD", "HOME", "PWD", "IFS"];
      const env = { PATH: "/usr/bin:/bin", ...Object.fromEntries(names.map((name) => [name, `secret-${randomId()}`])) };
      const inherited = await running(connection);
      const given = await running(connection, env);
      // What is forwarded goes to commands, not to the shell that begins a session and saves what it has.
      expect(inherited.told).not.toHaveProperty("FORWARDED");
      expect(connection.callVariables).toEqual(variables);
      expect(given.told).toMatchObject(env);
      for (const secret of [variables.FORWARDED, ...Object.values(env).slice(1)]) {
        for (const { shown } of [inherited, given]) expect(shown).not.toContain(secret);
      }
      expect(given.shown).toContain("holdfast-own");
    },
    LONG,
  );

  test(
    "an image for another architecture runs without holdfastd, and says what is lost; its programs need no more than busybox",
    async () => {
      const bench = await engineBench(engine());
      const image = await foreignImage(engine(), bench.directory);
      const driver = await bench.driver();
      const ref = await driver.create(bench.owner(), containerSpec({ image, idleStopSeconds: 60 }));
      const [warning] = bench.logged.filter(({ message }) => message.includes(LOSS));
      expect(warning?.message).toMatch(/the image is for linux\/\w+\).*idle_stop_seconds has no effect$/);

      await using connection = await (await bench.driver()).connect(ref);
      expect(connection.daemon).toBeUndefined();
      expect(await driver.activity?.(ref)).toEqual([]);
      const { stdout, stderr, exitCode } = await collect(connection, ["sh", "-c", "cat; echo err >&2; exit 3"], {
        input: "in",
        env: { A: "1" },
      });
      expect([stdout.toString(), stderr.toString(), exitCode]).toEqual(["in", "err\n", 3]);
      const transcript = createTranscript();
      const process = await connection.spawn(["sh", "-c", "trap '' TERM; sleep 1000 & echo $!; wait; sleep 1000"], {
        stdin: "none",
        onOutput: transcript.add,
      });
      await transcript.until(/\d+\n/);
      await process.kill({ graceMs: 50 });
      expect(await process.ended).toEqual({ exitCode: 137, signal: "SIGKILL" });
      expect(await driver.activity?.(ref)).toEqual([]);
    },
    LONG,
  );

  test(
    "S19 S20 a container that is stopped or gone is told from a command that fails, whatever the command says",
    async () => {
      const bench = await engineBench(engine());
      const driver = await bench.driver({ daemonProgram: null });
      const ref = await driver.create(bench.owner(), containerSpec());
      const connection = await driver.connect(ref);
      const lies = await collect(connection, ["sh", "-c", "echo Error: No such container: x >&2; exit 1"]);
      expect([lies.exitCode, lies.stderr.toString()]).toEqual([1, "Error: No such container: x\n"]);
      expect(await printed(connection, 'echo kept >"$1/note"', connection.stateDir)).toBe("");

      await bench.ask("kill", ref.id);
      await expect(collect(connection, ["true"])).rejects.toMatchObject({ code: "sandbox-lost", facts: { mayHaveRun: false } });
      const again = await driver.connect(ref);
      expect(again.restarted).toBe(true);
      expect(await printed(again, 'cat "$1/note"', again.stateDir)).toBe("kept");
      const held = await again.spawn(["sleep", "1000"], { stdin: "none", onOutput() {} });
      await bench.ask("rm", "-f", ref.id);
      await expect(held.ended).rejects.toMatchObject({ code: "sandbox-lost", facts: { mayHaveRun: true } });
      await held.kill({ graceMs: 0 });
      for (const open of [connection, again]) await open[Symbol.asyncDispose]();
    },
    LONG,
  );

  test(
    "S20 a container that is gone is told from a command that was killed, also while the engine does not know it yet",
    async () => {
      const bench = await engineBench(engine());
      const late = await lateEngine(engine(), bench.directory);
      const driver = await engineDriver(late.engine, bench.directory, { daemonProgram: null });
      const ref = await driver.create(bench.owner(), containerSpec());
      await using connection = await driver.connect(ref);
      const hold = () => connection.spawn(["sleep", "1000"], { stdin: "none", onOutput() {} });

      // With the shells around it: to its client no different from the end of the container.
      const killed = await hold();
      const kept = "exit 0\\|2000000011";
      const others = `tr '\\0' ' ' </proc/$p/cmdline | grep -q '${kept}'`;
      await bench.ask(
        "exec",
        ref.id,
        "sh",
        "-c",
        `for p in $(ls /proc | grep '^[0-9]'); do case $p in 1|$$) ;; *) ${others} || kill -9 $p; esac; done; :`,
      );
      expect(await killed.ended).toEqual({ exitCode: 137, signal: "SIGKILL" });

      // The same end, but the container was started anew before anybody could look.
      const restarted = await hold();
      await bench.ask("restart", "-t", "0", ref.id);
      await expect(restarted.ended).rejects.toMatchObject({ code: "sandbox-lost", facts: { mayHaveRun: true } });

      await using again = await driver.connect(ref);
      const held = await again.spawn(["sleep", "1000"], { stdin: "none", onOutput() {} });
      await late.knowNoMore(ref.id);
      await bench.ask("rm", "-f", ref.id);
      await expect(held.ended).rejects.toMatchObject({ code: "sandbox-lost", facts: { mayHaveRun: true } });
    },
    LONG,
  );
});

/** An engine that goes on to describe a container as it was. */
async function lateEngine(engine: TestEngine, directory: string) {
  const described = join(directory, "described");
  const binary = join(directory, "late-engine");
  const script = `#!/bin/sh\nif [ "$1 $2" = "container inspect" ] && [ -e '${described}' ]; then exec cat '${described}'; fi\nexec '${engine.binary}' "$@"\n`;
  await writeFile(binary, script, { mode: 0o755 });
  return {
    engine: { ...engine, binary },
    knowNoMore: async (id: string) => writeFile(described, (await engine.run(["container", "inspect", id])).stdout),
  };
}

/** What a program that runs in the sandbox was told, and all arguments of all processes on this machine meanwhile. */
async function running(connection: Connection, env?: Record<string, string>): Promise<{ told: Record<string, string>; shown: string }> {
  const transcript = createTranscript();
  const process = await connection.spawn(["sh", "-c", "tr '\\0' '\\1' </proc/$$/environ; echo; read -r line"], {
    ...(env && { env }),
    stdin: "pipe",
    // What the loader says about LD_PRELOAD is on the other one.
    onOutput: (chunk, stream) => (stream === "stdout" ? transcript.add(chunk, stream) : undefined),
  });
  const said = await transcript.until("\n");
  const shown = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(commandLine)
    .join("\n");
  process.stdin?.end("\n");
  await process.ended;
  const entries = said.split("\u0001").map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)] as const);
  return { told: Object.fromEntries(entries), shown };
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    // ENOENT or ESRCH: it has just ended.
    return "";
  }
}

/** Busybox of this machine, in an image that says that it is for another. */
async function foreignImage(engine: TestEngine, directory: string): Promise<string> {
  const tag = `holdfast-test:foreign-${randomId(4)}`;
  const layer = join(directory, "busybox.tar");
  await promisify(execFile)("tar", ["-C", directory, "-xf", await imageArchive(), "busybox.tar"]);
  const digest = createHash("sha256").update(readFileSync(layer)).digest("hex");
  const config = {
    architecture: process.arch === "arm64" ? "amd64" : "arm64",
    os: "linux",
    config: { Env: ["PATH=/bin"], Cmd: ["sh"] },
    rootfs: { type: "layers", diff_ids: [`sha256:${digest}`] },
  };
  const text = JSON.stringify(config);
  const name = `${createHash("sha256").update(text).digest("hex")}.json`;
  await writeFile(join(directory, name), text);
  await writeFile(join(directory, "manifest.json"), JSON.stringify([{ Config: name, RepoTags: [tag], Layers: ["busybox.tar"] }]));
  const archive = join(directory, "foreign.tar");
  await promisify(execFile)("tar", ["-C", directory, "-cf", archive, "manifest.json", name, "busybox.tar"]);
  const { code, stderr } = await engine.run(["load", "--quiet", "--input", archive]);
  expect(code, stderr).toBe(0);
  onTestFinished(async () => void (await engine.run(["rmi", "-f", tag])));
  return tag;
}
