import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { configSet } from "../../src/app/operations/config-set.ts";
import { taskShow } from "../../src/app/operations/task-show.ts";
import { visitSandbox } from "../../src/app/sandbox-of-task.ts";
import { endRunInSandbox } from "../../src/app/sandbox-worker.ts";
import { randomId } from "../../src/base/ids.ts";
import type { Claim } from "../../src/board/claims.ts";
import { driftOf } from "../../src/board/drift.ts";
import { recordOf } from "../../src/dispatcher/launcher.ts";
import { describeEngines } from "../docker/engine-bench.ts";
import type { TestEngine } from "../helpers/engine.ts";
import { USER_IMAGE } from "../helpers/engine-image.ts";
import { LONG, type SandboxBench, sandboxBench } from "./sandbox-bench.ts";

/** By sessions: until a loop's child has become `sleep`, it looks like its parent. */
const count = (name: string) => `pgrep -f ' ${name}$' | xargs -r ps -o sid= -p | sort -u | grep -c .`;

/** Ignores TERM, and so do two that left its group, one of them without its variables. They are known by the name. */
const stubborn = (name: string) => `trap '' TERM
  setsid sh -c 'trap "" TERM; while :; do sleep 0.2; done' ${name} &
  (env -i /bin/sh -c '(setsid sh -c "while :; do sleep 0.2; done" ${name} &)')
  until [ "$(${count(name)})" -ge 2 ]; do sleep 0.1; done`;

async function left(bench: SandboxBench, task: string, name: string): Promise<string> {
  return (await (await visitSandbox(bench.app, task)).run(["bash", "-c", count(name)])).stdout.trim();
}

function endings(engine: () => TestEngine | null): void {
  test(
    "K18 K19 ends with all that it started, also what ignores TERM, went away and forgot its variables",
    async () => {
      const bench = await sandboxBench(engine());
      const name = `worker-${randomId(6)}`;
      const claim = await bench.start(`${stubborn(name)}\necho leaves; exit 7`, { graceMs: 300 });
      expect(await bench.exit(claim)).toMatchObject({ code: 7, signal: null, reason: "exited" });
      expect(await bench.log(claim)).toContain("leaves");
      expect(await left(bench, claim.task.id, name)).toBe("0");
      await bench.over(claim);
    },
    LONG,
  );

  test(
    "K18 is ended by whoever finds that its supervisor was killed, and nothing of it is left",
    async () => {
      const bench = await sandboxBench(engine());
      const name = `worker-${randomId(6)}`;
      const claim = await bench.start(`${stubborn(name)}\necho stays; while :; do sleep 0.2; done`, { graceMs: 300 });
      await bench.untilLogged(claim, "stays");
      const record = recordOf(await bench.run(claim));
      process.kill(record?.supervisor.pid ?? 0, "SIGKILL");
      await bench.over(claim);
      expect(await left(bench, claim.task.id, name)).toBe("2");
      await bench.launcher.end(await bench.run(claim), { graceMs: 300 });
      expect(await left(bench, claim.task.id, name)).toBe("0");
    },
    LONG,
  );

  test(
    "K18 is ended where it began although backend, prefix, directory and engine are others by then",
    async () => {
      const bench = await sandboxBench(engine());
      const name = `worker-${randomId(6)}`;
      const claim = await bench.start(`${stubborn(name)}\necho stays; while :; do sleep 0.2; done`, { graceMs: 300 });
      await bench.untilLogged(claim, "stays");
      process.kill(recordOf(await bench.run(claim))?.supervisor.pid ?? 0, "SIGKILL");
      await bench.over(claim);
      const there = join(bench.home, "elsewhere");
      const changes = [
        { TERMINAL_BACKEND: engine() === null ? "memory" : "local" },
        { TERMINAL_LABEL_PREFIX: "another" },
        { TERMINAL_SANDBOX_DIR: there },
        { DOCKER_HOST: `unix://${there}/docker.sock`, DOCKER_CONTEXT: undefined, HOLDFAST_DOCKER_BINARY: "docker" },
        { TERMINAL_DAEMON: "off" },
      ];
      const app = await bench.open(Object.assign({}, ...changes));
      const run = await bench.run(claim);
      const record = recordOf(run);
      if (record === null) throw new Error("nobody was recorded");
      expect(await left(bench, claim.task.id, name)).toBe("2");
      await endRunInSandbox(app, run, record, { graceMs: 300 });
      expect(await left(bench, claim.task.id, name)).toBe("0");
    },
    LONG,
  );

  test(
    "K18 is ended also when it has killed the keeper of its tree, and what it had put aside has escaped",
    async () => {
      const bench = await sandboxBench(engine());
      const name = `worker-${randomId(6)}`;
      const script = `setsid sh -c 'trap "" TERM; while :; do sleep 0.2; done' ${name} &
        until pgrep -f ' ${name}$'; do sleep 0.1; done
        kill -9 $(ps -o ppid= -p $PPID); while :; do sleep 0.2; done`;
      const claim = await bench.start(script, { graceMs: 300 });
      expect(await bench.exit(claim)).toMatchObject({ code: null, signal: "SIGKILL", reason: "exited" });
      expect(await left(bench, claim.task.id, name)).toBe("0");
    },
    LONG,
  );
}

describe("a worker in a sandbox on this machine", () => {
  endings(() => null);

  test(
    "K4 K29 works in its workspace itself, and with the real program",
    async () => {
      const bench = await sandboxBench(null);
      const claim = await bench.start("pwd; printf x >made; holdfast kanban complete --summary ok --artifact made");
      await bench.over(claim);
      expect(await bench.log(claim)).toContain(`${await bench.workspace(claim.task.id)}\n`);
      expect(await bench.run(claim)).toMatchObject({ outcome: "completed", summary: "ok" });
      expect(await bench.store.attachments(claim.task.id)).toMatchObject([{ name: "made", size: 1 }]);
    },
    LONG,
  );

  test(
    "K20 does not begin without holdfastd, and says why",
    async () => {
      const bench = await sandboxBench(null, { TERMINAL_DAEMON: "off" });
      const claim = await bench.start("echo never");
      expect(await bench.exit(claim)).toMatchObject({ reason: "start_failed", error: expect.stringContaining("holdfastd does not run") });
      expect(await bench.log(claim)).not.toContain("never");
    },
    LONG,
  );
});

describeEngines("a worker in a container", (engine) => {
  endings(engine);

  test(
    "K18 counts as dead without its container only when the engine that had it says so",
    async () => {
      const bench = await sandboxBench(engine());
      const claim = await bench.start("echo begun; while :; do sleep 0.2; done", { graceMs: 0 });
      await bench.untilLogged(claim, "begun");
      const run = await bench.run(claim);
      const record = recordOf(run);
      const address = record?.address;
      if (record === null || !address?.access) throw new Error("its container was not recorded");
      const { ref, access } = address;
      const end = (changed: Partial<typeof access>) =>
        endRunInSandbox(bench.app, run, { ...record, address: { ...address, access: { ...access, ...changed } } }, { graceMs: 0 });
      process.kill(record.supervisor.pid, "SIGKILL");
      await bench.over(claim);
      expect(await engine().run(["rm", "-f", "-v", ref.id])).toMatchObject({ code: 0 });
      const doubt = { message: expect.stringContaining(`run ${run.id} of ${claim.task.id} does not count as dead`) };
      // Another one answers by now, under the same name.
      await expect(end({ engine: "docker another" })).rejects.toMatchObject({ code: "engine-not-responding", ...doubt });
      // None does.
      const variables = { ...access.variables, HOLDFAST_DOCKER_BINARY: "docker", DOCKER_CONTEXT: null, DOCKER_HOST: "unix:///nowhere/s" };
      await expect(end({ variables })).rejects.toMatchObject({ code: "engine-not-responding", ...doubt });
      await end({});
    },
    LONG,
  );

  test(
    "S17 K12 hears of changed settings in its log, and show and why tell of them; what concerns trust takes effect",
    async () => {
      const bench = await sandboxBench(engine());
      const set = (key: string, value: unknown) => configSet.run(bench.app, { key, value });
      const finish = async (claim: Claim) => {
        await bench.exit(claim);
        await bench.over(claim);
        await bench.release(claim);
        return driftOf(await bench.run(claim));
      };
      const first = await bench.start("echo first >/var/note; echo $TOKEN");
      const { id } = first.task;
      expect(await finish(first)).toBeNull();

      await set("terminal.container_cpu", 0.5);
      const second = await bench.start("cat /var/note; echo over", { again: id });
      expect(await bench.untilLogged(second, "over")).toMatch(/^first$/m);
      const kept = { sandbox: id, changed: [expect.stringContaining("cpu (made with: 1; now: 0.5)")], replaced: false };
      expect(await finish(second)).toEqual(kept);
      expect(await bench.log(second)).toMatch(/^holdfast: the sandbox of task \S+ was made with other settings: cpu .*used as it is/m);
      const shown = await taskShow.run(bench.app, { id });
      expect(shown.events.filter(({ kind }) => kind === "sandbox_drifted")).toMatchObject([{ run: second.run.id, payload: kept }]);
      expect(shown.why.find(({ kind }) => kind === "drifted")).toMatchObject({
        text: expect.stringMatching(new RegExp(`^run ${second.run.id} did not have .* cpu .*it was used as it was$`)),
        fix: expect.stringContaining(`holdfast sandbox reset ${id} -p default`),
      });

      await set("terminal.docker_env", { TOKEN: "hush-hush" });
      const third = await bench.start("ls /var/note; echo token $TOKEN", { again: id });
      expect(await bench.untilLogged(third, "token hush-hush")).toContain("a new one takes its place");
      const drift = await finish(third);
      expect(drift).toMatchObject({ replaced: true });
      expect(JSON.stringify(drift)).not.toContain("hush");
      const after = await taskShow.run(bench.app, { id });
      expect(after.why.find(({ kind }) => kind === "drifted")).toBeUndefined();
    },
    LONG,
  );

  test(
    "K18 is ended also when it has killed the daemon that knew it",
    async () => {
      const bench = await sandboxBench(engine());
      const name = `worker-${randomId(6)}`;
      const script = `setsid sh -c 'trap "" TERM; while :; do sleep 0.2; done' ${name} &
        echo begun; while [ ! -e go ]; do sleep 0.1; done
        kill -9 $(pgrep -fx '.*holdfastd.* serve .*')
        while :; do sleep 0.2; done`;
      const claim = await bench.start(script, { graceMs: 300 });
      // Its start is answered for by the daemon, too.
      await bench.untilLogged(claim, "begun");
      await writeFile(join(await bench.workspace(claim.task.id), "go"), "");
      expect(await bench.exit(claim)).toMatchObject({ code: null, reason: "exited" });
      expect(await bench.log(claim)).toContain("it is not known how the worker ended");
      expect(await left(bench, claim.task.id, name)).toBe("0");
    },
    LONG,
  );

  test(
    "K27 leaves no set-user-id file on the host, however its run ends",
    async () => {
      const bench = await sandboxBench(engine());
      const script = `
        mkdir -p deep/.hidden; cp /bin/true deep/.hidden/shell; cp /bin/true plain; ln -s /bin/true link
        chmod 6755 deep/.hidden/shell plain; stat -c %a plain`;
      const modes = async ({ task: { id } }: Claim) => {
        const workspace = await bench.workspace(id);
        const of = async (path: string) => ((await stat(join(workspace, path))).mode & 0o7777).toString(8);
        return Promise.all(["deep/.hidden/shell", "plain"].map(of));
      };
      const said = await bench.start(`${script}; holdfast kanban attach plain; holdfast kanban complete`);
      await bench.over(said);
      expect(await bench.log(said)).toContain("6755\n");
      expect(await modes(said)).toEqual(["755", "755"]);
      const [attached] = await bench.store.attachments(said.task.id);
      expect((await stat(attached?.path ?? "")).mode & 0o7777).toBe(0o600);

      const killed = await bench.start(`${script}; while :; do sleep 0.2; done`);
      await bench.untilLogged(killed, "6755\n");
      process.kill(recordOf(await bench.run(killed))?.supervisor.pid ?? 0, "SIGKILL");
      await bench.over(killed);
      expect(await modes(killed)).toEqual(["6755", "6755"]);
      await bench.launcher.end(await bench.run(killed), { graceMs: 300 });
      expect(await modes(killed)).toEqual(["755", "755"]);

      const copied = await bench.start(script, { sandbox: "profile" });
      await bench.over(copied);
      expect(await modes(copied)).toEqual(["755", "755"]);
    },
    LONG,
  );

  test(
    "K20 does not begin where it could not write to its workspace, unless it is the caller",
    async () => {
      const variables = { TERMINAL_DOCKER_IMAGE: USER_IMAGE };
      const bench = await sandboxBench(engine(), variables);
      const first = await bench.start("echo x >made");
      // Podman lets also an ordinary user have what it allows to containers, so that one can write there.
      const podman = engine().host === "";
      const refusal = { reason: "start_failed", error: expect.stringMatching(/could not write to .* user 1000$/) };
      expect(await bench.exit(first)).toMatchObject(podman ? { code: 0, reason: "exited" } : refusal);
      const same = await sandboxBench(engine(), { ...variables, TERMINAL_DOCKER_RUN_AS_HOST_USER: "true" });
      const claim = await same.start("echo x >made; ls -ln made");
      expect(await same.exit(claim)).toMatchObject({ code: 0 });
    },
    LONG,
  );
});
