import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { randomId } from "../../src/base/ids.ts";
import { eventually } from "../daemon/machine.ts";
import { createTestCli, type TestCli } from "../helpers/cli.ts";
import { ENGINE_LIMIT_MS, type TestEngine, testEngine } from "../helpers/engine.ts";
import { engineVariables } from "../helpers/engine-harness.ts";
import { failureOf } from "../helpers/failure-of.ts";
import { describeIf } from "../helpers/requirements.ts";
import { containerSpec, describeEngines, engineBench, LONG } from "./engine-bench.ts";
import { runDirectoryOf } from "./forged-daemon.ts";

/** Every argument list on this machine from now on, whoever's it is. */
async function watchCommands(): Promise<ReadonlySet<string>> {
  const lines = new Set<string>();
  const watcher = spawn(process.execPath, [join(import.meta.dirname, "command-watcher.ts")], { stdio: ["pipe", "pipe", "inherit"] });
  createInterface({ input: watcher.stdout }).on("line", (line) => lines.add(JSON.parse(line) as string));
  onTestFinished(async () => {
    watcher.stdin.end();
    await once(watcher, "close");
  });
  await eventually(() => lines.size > 0, "the watcher began");
  return lines;
}

/** Texts that occur nowhere else. */
function secretsFor<Name extends string>(...names: readonly Name[]): Record<Name, string> {
  return Object.fromEntries(names.map((name) => [name, `secret-${randomId(8)}`])) as Record<Name, string>;
}

/** Which of them a text holds, by name: a failure must not print them either. */
function found(text: string, secrets: Readonly<Record<string, string>>): string[] {
  return Object.keys(secrets).filter((name) => text.includes(secrets[name] ?? ""));
}

/** All that an error holds, down to its first cause. */
function wholeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return [error.message, error.stack, JSON.stringify(error), wholeError(error.cause)].join("\n");
}

async function filesBelow(directory: string): Promise<{ path: string; text: string }[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(paths.map(async (path) => ({ path, text: await readFile(path, "latin1") })));
}

describeEngines("no secret shows", (engine) => {
  test(
    "S10 in any argument list, in the container's description, in its labels, in logs, or in files that others can read",
    async () => {
      const bench = await engineBench(engine());
      const given = secretsFor("literal", "proxy", "forwarded", "call", "input");
      const settings = { docker_forward_env: ["FORWARDED"], docker_env: { LITERAL: given.literal, HTTPS_PROXY: given.proxy } };
      const lines = await watchCommands();
      const driver = await bench.driver({ settings, variables: { FORWARDED: given.forwarded } });
      const { sandbox } = await bench
        .lifecycle(driver)
        .acquire(bench.owner(), containerSpec({ env: settings.docker_env, forwardEnv: settings.docker_forward_env }));
      const daemon = await readFile(join(await runDirectoryOf(bench.placeOf()), "secret"), "utf8");
      const secrets = { ...given, daemon };

      const mark = `4.${String(process.pid).padStart(7, "0")}`;
      const script = `IFS= read -r line; echo "$LITERAL $HTTPS_PROXY $FORWARDED $CALL $line"; sleep ${mark} & until [ -e /workspace/seen ]; do sleep 0.05; done; kill $!`;
      const running = sandbox.run(script, { env: { CALL: given.call }, stdin: `${given.input}\n` });
      const { id } = await sandbox.processes.start(`sleep ${mark}1; true`, { env: { CALL: given.call } });
      await eventually(() => [...lines].some((line) => line.startsWith(`sleep ${mark}`)), "the command was seen");
      await eventually(() => [...lines].some((line) => line.includes(`sleep ${mark}1`)), "the process was seen");
      await writeFile(join(bench.placeOf(), "workspace", "seen"), "");
      // They did come through.
      expect((await running).stdout).toBe(`${given.literal} ${given.proxy} ${given.forwarded} ${given.call} ${given.input}\n`);
      await sandbox.processes.kill(id, { graceMs: 0 });

      const all = [...lines].join("\n");
      expect(all).toMatch(/ run -d /);
      expect(all).toContain("-e LITERAL ");
      expect(all).toContain("/holdfast/holdfastd serve");
      expect(found(all, secrets)).toEqual([]);

      // Other settings than it was made with are told by name.
      const changed = { ...settings.docker_env, LITERAL: `${given.call}${given.literal}` };
      await (await bench.process()).acquire(bench.owner(), containerSpec({ env: changed }));
      expect(JSON.stringify(bench.logged)).toContain("LITERAL");

      const described = await bench.inspect(sandbox.ref.id);
      // The engine itself keeps what `-e` sets and shows it to whoever may ask it, which is why secrets are to be forwarded.
      expect(found(JSON.stringify(described), secrets)).toEqual(["literal", "proxy"]);
      expect(found(JSON.stringify({ ...described, Config: { ...described.Config, Env: [] } }), secrets)).toEqual([]);
      expect(found(JSON.stringify(described.Config.Labels), secrets)).toEqual([]);
      expect(found(await bench.ask("logs", sandbox.ref.id), secrets)).toEqual([]);
      expect(found(JSON.stringify([bench.logged, bench.audited]), secrets)).toEqual([]);

      // What is open to all in there, because the container's user may be any, lies in a directory that is open to its owner alone.
      expect((await stat(bench.placeOf())).mode & 0o777).toBe(0o700);
      expect((await stat(dirname(bench.placeOf()))).mode & 0o777).toBe(0o700);
      // What the engine shows anyway, a session may save.
      for (const { path, text } of await filesBelow(bench.directory)) {
        expect(found(text, { ...secrets, ...secretsFor("literal", "proxy") }), path).toEqual(path.endsWith("/secret") ? ["daemon"] : []);
      }
    },
    LONG,
  );

  test("S10 in the error of a container that is refused, whatever refuses it", async () => {
    const bench = await engineBench(engine());
    const secrets = secretsFor("literal", "forwarded");
    const variables = { FORWARDED: secrets.forwarded };
    const driver = await bench.driver({ settings: { docker_forward_env: ["FORWARDED"] }, variables });
    const refused = {
      "an unknown argument": containerSpec({ env: { LITERAL: secrets.literal }, extraArgs: ["--no-such-argument"] }),
      "an unknown image": containerSpec({ env: { LITERAL: secrets.literal }, image: "no-such-image:here" }),
      "a directory that cannot be made": containerSpec({
        env: { LITERAL: secrets.literal },
        mounts: [{ source: "/proc/no/such/directory", target: "/data", readOnly: true }],
      }),
      "a byte that no variable holds": containerSpec({ env: { LITERAL: `${secrets.literal}\0` } }),
      "a user that does not exist": containerSpec({ env: { LITERAL: secrets.literal }, extraArgs: ["--user", "nobody-knows-me"] }),
    };
    for (const [why, spec] of Object.entries(refused)) {
      const error = await failureOf(driver.create(bench.owner(), spec));
      expect(error, why).toMatchObject({ code: expect.stringMatching(/^(sandbox-create-failed|invalid-input)$/) });
      expect(found(wholeError(error), secrets), why).toEqual([]);
    }
    expect(found(JSON.stringify(bench.logged), secrets)).toEqual([]);
    expect(await bench.containers()).toEqual([]);
  });
});

describeIf(["cc", "dockerd", "mmdebstrap"], "a caller with credentials", () => {
  let engine: TestEngine;
  let cli: TestCli;
  let env: Record<string, string>;
  beforeAll(async () => {
    engine = await testEngine();
  }, ENGINE_LIMIT_MS);
  beforeEach(async () => {
    cli = await createTestCli();
    env = engineVariables(engine);
  });
  afterEach(async () => {
    await cli.run(["sandbox", "rm", "--force", "--", "default"], { env });
    await cli[Symbol.asyncDispose]();
  });

  describe("of his own and in his .env", () => {
    const OWN = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "HOLDFAST_GATEWAY_TOKEN", "HOLDFAST_HTTP_TOKEN", "SENTINEL", "http_proxy"] as const;
    const FILED = ["FILED_TOKEN", "GROQ_API_KEY"] as const;

    test(
      "S10 S11 brings none of them in, nor anything else of his, unless he names it; and is warned when it is a credential",
      async () => {
        const secrets = secretsFor(...OWN, ...FILED);
        await mkdir(cli.home, { recursive: true });
        await writeFile(join(cli.home, ".env"), FILED.map((name) => `${name}=${secrets[name]}\n`).join(""));
        const own = Object.fromEntries(OWN.map((name) => [name, secrets[name]]));
        const run = (more: Record<string, string> = {}) =>
          cli.runProcess(["exec", "--", "env; cat /proc/1/environ /proc/self/environ | tr '\\0' '\\n'"], {
            env: { ...env, ...own, ...more },
          });
        const closed = await run();
        expect(closed).toMatchObject({ status: 0, stderr: "" });
        expect(found(closed.stdout, secrets)).toEqual([]);
        expect(closed.stdout).not.toMatch(/^(HOLDFAST_DOCKER_BINARY|HOLDFAST_HOME|TERMINAL_|DOCKER_HOST)/m);
        expect(closed.stdout).not.toContain(cli.home);

        const named = ["ANTHROPIC_API_KEY", "SENTINEL", "FILED_TOKEN"];
        const open = await run({ TERMINAL_DOCKER_FORWARD_ENV: JSON.stringify(named) });
        expect(found(open.stdout, secrets).sort()).toEqual([...named].sort());
        expect(open.stderr.match(/ANTHROPIC_API_KEY/g)).toHaveLength(1);
        expect(open.stderr).not.toContain("SENTINEL");
        expect(found(open.stderr, secrets)).toEqual([]);
      },
      LONG,
    );

    test(
      "sees none of them in what the program tells about its work, or about the sandbox",
      async () => {
        const secrets = secretsFor("forwarded", "filed", "literal", "call", "input");
        await mkdir(cli.home, { recursive: true });
        await writeFile(join(cli.home, ".env"), `FILED=${secrets.filed}\n`);
        const all = {
          ...env,
          FORWARDED: secrets.forwarded,
          CALL: secrets.call,
          TERMINAL_DOCKER_FORWARD_ENV: '["FORWARDED","FILED"]',
          TERMINAL_DOCKER_ENV: JSON.stringify({ LITERAL: secrets.literal }),
        };
        const lines = await watchCommands();
        const { status, stdout, stderr } = await cli.runProcess(
          ["--debug", "exec", "--stdin", "-e", "CALL", "--", 'read -r line; echo "$FORWARDED $FILED $LITERAL $CALL $line"'],
          { env: all, input: `${secrets.input}\n` },
        );
        expect({ status, stdout }).toEqual({
          status: 0,
          stdout: `${secrets.forwarded} ${secrets.filed} ${secrets.literal} ${secrets.call} ${secrets.input}\n`,
        });
        const daemon = await daemonSecret();
        const hidden = { ...secrets, daemon };
        expect(stderr).toMatch(/debug/);
        expect(found(stderr, hidden)).toEqual([]);
        for (const verb of ["sandbox inspect", "sandbox ls --all", "session ls", "process ls", "doctor"]) {
          const told = await cli.run(["--debug", ...verb.split(" ")], { env: all });
          expect(found(told.stdout + told.stderr, hidden), verb).toEqual([]);
        }
        const failed = await cli.run(["--debug", "exec", "-e", "CALL", "--cwd", "/no/such", "--", "true"], { env: all });
        expect(failed.status).toBe(125);
        expect(found(failed.stdout + failed.stderr, hidden)).toEqual([]);
        expect([...lines].some((line) => line.includes(" run -d "))).toBe(true);
        expect(found([...lines].join("\n"), hidden)).toEqual([]);
        for (const { path, text } of await filesBelow(cli.home)) {
          const here = path.endsWith("/.env") ? ["filed"] : path.endsWith("/secret") ? ["daemon"] : [];
          expect(found(text, { ...hidden, ...secretsFor("literal") }), path).toEqual(here);
        }
      },
      LONG,
    );

    async function daemonSecret(): Promise<string> {
      const install = (await readFile(join(cli.home, "install-id"), "utf8")).trim();
      return readFile(join(await runDirectoryOf(join(cli.home, "sandboxes/docker", install, "default/default")), "secret"), "utf8");
    }
  });
});
