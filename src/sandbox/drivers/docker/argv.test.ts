import { describe, expect, test } from "vitest";
import { sandboxSpec } from "../../../../test/helpers/sandbox-spec.ts";
import type { SandboxSpec } from "../../spec.ts";
import { type RunRequest, runArgv } from "./argv.ts";
import { QUIRKS } from "./quirks.ts";

const limits = { cpu: 1, memoryMb: 5120, diskMb: 51200, pids: 256, strict: false };

function request({ spec, ...changes }: Partial<Omit<RunRequest, "spec">> & { spec?: Partial<SandboxSpec> } = {}): RunRequest {
  return {
    name: "holdfast-0123456789abcdef",
    labels: { "holdfast-agent": "1", "holdfast-task-id": "t_1" },
    spec: sandboxSpec({ limits, ...spec }),
    image: "debian:bookworm",
    cwd: "/workspace",
    home: "/root",
    hostUser: null,
    userIds: { uid: 0, gid: 0 },
    startsAsRoot: true,
    init: true,
    mounts: [],
    cidFile: "/h/cid",
    envFile: "/h/env",
    command: ["/holdfastd", "serve"],
    quirks: QUIRKS.docker,
    ...changes,
  };
}
const args = (changes: Parameters<typeof request>[0] = {}) => runArgv(request(changes)).args;
/** The values of every use of one flag. */
const values = (flag: string, all: string[]) => all.flatMap((arg, index) => (arg === flag ? [all[index + 1]] : []));

test("S4 S5 S7 the whole command line, in its order", () => {
  const everything = request({
    mounts: [
      { source: "/k/workspace", target: "/workspace", readOnly: false },
      { source: "/h/holdfastd", target: "/holdfastd", readOnly: true },
    ],
    spec: { env: { DEBUG: "1", A: "secret" }, extraArgs: ["--shm-size", "1g"], network: false },
  });
  expect(runArgv(everything)).toMatchInlineSnapshot(`
    {
      "args": [
        "run",
        "-d",
        "--init",
        "--pull",
        "never",
        "--name",
        "holdfast-0123456789abcdef",
        "--cidfile",
        "/h/cid",
        "--label",
        "holdfast-agent=1",
        "--label",
        "holdfast-task-id=t_1",
        "-w",
        "/workspace",
        "--cap-drop",
        "ALL",
        "--cap-add",
        "DAC_OVERRIDE",
        "--cap-add",
        "CHOWN",
        "--cap-add",
        "FOWNER",
        "--cap-add",
        "SETUID",
        "--cap-add",
        "SETGID",
        "--security-opt",
        "no-new-privileges",
        "--pids-limit",
        "256",
        "--tmpfs",
        "/tmp:rw,exec,nosuid,size=512m",
        "--tmpfs",
        "/var/tmp:rw,noexec,nosuid,size=256m",
        "--tmpfs",
        "/run:rw,noexec,nosuid,size=64m",
        "--network",
        "none",
        "--tmpfs",
        "/holdfast:rw,noexec,nosuid,size=64k,uid=0,gid=0,mode=0700",
        "--mount",
        "type=bind,source=/k/workspace,target=/workspace",
        "--mount",
        "type=bind,source=/h/holdfastd,target=/holdfastd,readonly",
        "--cpus",
        "1",
        "--memory",
        "5120m",
        "--storage-opt",
        "size=51200m",
        "-e",
        "A",
        "-e",
        "DEBUG",
        "--shm-size",
        "1g",
        "debian:bookworm",
        "/holdfastd",
        "serve",
      ],
      "env": {
        "A": "secret",
        "DEBUG": "1",
      },
      "envFile": null,
    }
  `);
});

test("S3 podman is told not to let the caller's proxies in", () => {
  expect(args({ quirks: QUIRKS.podman })).toContain("--http-proxy=false");
  expect(args()).not.toContain("--http-proxy=false");
});

describe("S4", () => {
  test("`~` is the home of the container's user", () => {
    const directory = (cwd: string | null) => values("-w", args({ cwd, home: "/home/me" }));
    expect([directory("~"), directory("~/src"), directory("/x"), directory(null)]).toEqual([["/home/me"], ["/home/me/src"], ["/x"], []]);
  });

  test("the user's own arguments come last, before the image", () => {
    const line = args({ spec: { extraArgs: ["--pids-limit", "100"], env: { A: "1" } } });
    expect(line.slice(-7)).toEqual(["-e", "A", "--pids-limit", "100", "debian:bookworm", "/holdfastd", "serve"]);
  });

  test("an image with an init of its own gets none", () => expect(args({ init: false })).not.toContain("--init"));

  test("S13 nothing is pulled on the way", () => expect(values("--pull", args())).toEqual(["never"]));
});

describe("S5", () => {
  test("only a container that starts as root may become another user", () => {
    const capabilities = (changes: Parameters<typeof request>[0]) => values("--cap-add", args(changes));
    expect(capabilities({ startsAsRoot: true })).toEqual(["DAC_OVERRIDE", "CHOWN", "FOWNER", "SETUID", "SETGID"]);
    expect(capabilities({ startsAsRoot: false })).toEqual(["DAC_OVERRIDE", "CHOWN", "FOWNER"]);
    expect(capabilities({ hostUser: { uid: 1000, gid: 100 } })).toEqual(["DAC_OVERRIDE", "CHOWN", "FOWNER"]);
  });

  test("a mount on one of the temporary directories takes its place, or the engine would refuse both", () => {
    const line = args({ mounts: [{ source: "/scratch", target: "/tmp", readOnly: false }] });
    expect(values("--tmpfs", line).map((value) => value?.split(":")[0])).toEqual(["/var/tmp", "/run", "/holdfast"]);
  });
});

test("S6 S9 the caller's own user and group, with a home", () => {
  const hostUser = { uid: 1000, gid: 100 };
  expect(values("-e", args({ hostUser, home: "/home/x" }))).toEqual(["HOME=/home/x"]);
  expect(values("-e", args({ hostUser, spec: { env: { HOME: "/mine" } } }))).toEqual([]);
  expect(values("-e", args({ home: "/home/x" }))).toEqual([]);
  expect(values("--user", args({ hostUser }))).toEqual(["1000:100"]);
  expect(values("--user", args())).toEqual([]);
});

describe("S7", () => {
  const limitsOf = (changes: Partial<typeof limits>) => {
    const line = args({ spec: { limits: { ...limits, ...changes } } });
    return ["--cpus", "--memory", "--storage-opt", "--pids-limit"].map((flag) => values(flag, line)[0]);
  };

  test("each limit that is set is applied", () => expect(limitsOf({ cpu: 0.5 })).toEqual(["0.5", "5120m", "size=51200m", "256"]));

  test("0 is unlimited", () =>
    expect(limitsOf({ cpu: 0, memoryMb: 0, diskMb: 0, pids: 0 })).toEqual([undefined, undefined, undefined, "-1"]));
});

test("S9 a sandbox whose files are not kept has its home and workspace in memory, where nothing else is mounted", () => {
  const places = (changes: Parameters<typeof request>[0]) => values("--tmpfs", args(changes)).slice(4);
  const spec = { keepFiles: false };
  expect(places({ spec })).toEqual([
    "/workspace:rw,exec,nosuid,size=10g,uid=0,gid=0,mode=0755",
    "/root:rw,exec,nosuid,size=1g,uid=0,gid=0,mode=0700",
  ]);
  const mounts = [{ source: "/me", target: "/workspace", readOnly: false }];
  expect(places({ spec, mounts, home: "/home/x" })).toEqual(["/home/x:rw,exec,nosuid,size=1g,uid=0,gid=0,mode=0700"]);
  expect(places({})).toEqual([]);
  const [workspace] = places({ spec, userIds: { uid: 1000, gid: 100 } });
  expect(workspace).toBe("/workspace:rw,exec,nosuid,size=10g,uid=1000,gid=100,mode=0755");
  expect(places({ spec, quirks: QUIRKS.podman })[0]).toBe("/workspace:rw,exec,nosuid,size=10g,U,mode=0755");
});

describe("S10", () => {
  test("values are in the client's environment and in no argument", () => {
    const line = runArgv(request({ spec: { env: { TOKEN: "hunter2", EMPTY: "" }, forwardEnv: ["FORWARDED"] } }));
    expect(values("-e", line.args)).toEqual(["EMPTY", "TOKEN"]);
    expect(line.env).toEqual({ TOKEN: "hunter2", EMPTY: "" });
    expect(line.args.join(" ")).not.toMatch(/hunter2|FORWARDED/);
  });

  test("variables that the client itself would obey go through a file", () => {
    const theirs = ["DOCKER_HOST", "HOME", "LD_PRELOAD", "PATH", "XDG_RUNTIME_DIR", "_CONTAINERS_USERNS_CONFIGURED", "https_proxy"];
    const ours = ["CONTAINERIZED", "DOCKERFILE", "GOPATH", "HOMEPAGE", "PROXY"];
    const line = runArgv(request({ spec: { env: Object.fromEntries([...theirs, ...ours].map((name) => [name, "x"])) } }));
    expect(line.envFile).toBe(theirs.map((name) => `${name}=x\n`).join(""));
    expect(values("--env-file", line.args)).toEqual(["/h/env"]);
    expect(() => runArgv(request({ spec: { env: { PATH: "a\nb" } } }))).toThrow("line break");
    expect(Object.keys(line.env)).toEqual(ours);
    expect(values("-e", line.args)).toEqual(ours);
  });
});

test("a sandbox without a network", () => {
  expect(values("--network", args({ spec: { network: false } }))).toEqual(["none"]);
  expect(values("--network", args())).toEqual([]);
});
