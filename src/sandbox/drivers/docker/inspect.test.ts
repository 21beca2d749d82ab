import { expect, test } from "vitest";
import { parseEngineTime, parseInspect } from "./inspect.ts";

// As Docker 20.10 and Podman 4.3 print them, shortened to some of the fields.
const DOCKER = {
  Id: "23c577e1b4d5bc6c6e3d52ac1649f8bd6ead9adbee410f8c05da1f6a37887695",
  Created: "2026-11-15T07:46:20.779254994Z",
  Args: ["1000"],
  State: {
    Status: "exited",
    Running: false,
    OOMKilled: true,
    Pid: 0,
    ExitCode: 137,
    StartedAt: "2026-11-15T07:46:21.539731123Z",
    FinishedAt: "2026-11-15T07:46:21.770864568Z",
  },
  Image: "sha256:166c2a2c22301ad99629432cd88c2877d137c29934c2cfc5b5d1933a9e42158e",
  Name: "/hd2-i",
  Config: { Image: "holdfast-test:base", Labels: { a: "b" } },
  HostConfig: { NanoCpus: 500_000_000, Memory: 64 * 1024 ** 2, PidsLimit: 20, StorageOpt: { size: "512m" } },
  Mounts: [{ Type: "bind", Source: "/host/run", Destination: "/holdfast/run" }, null],
};
const PODMAN = {
  Id: "5899b0779187ef23582f58c0f8771ad430b4747249f61b2b5ae1d862eceee81d",
  State: {
    OciVersion: "1.0.2-dev",
    Status: "running",
    Running: true,
    OOMKilled: false,
    ExitCode: 0,
    StartedAt: "2026-11-15T07:46:02.239185405Z",
    FinishedAt: "0001-01-01T00:00:00Z",
    Health: { Status: "", FailingStreak: 0, Log: null },
  },
  Image: "166c2a2c22301ad99629432cd88c2877d137c29934c2cfc5b5d1933a9e42158e",
  ImageName: "localhost/holdfast-test:base",
  Name: "hd2-a",
  Config: { Image: "localhost/holdfast-test:base", Labels: null },
  HostConfig: { NanoCpus: 0, Memory: 0, PidsLimit: -1 },
};

test("S3 docker and podman describe containers the same way", () => {
  expect(parseInspect(JSON.stringify([DOCKER, PODMAN]))).toEqual([
    {
      id: DOCKER.Id,
      name: "hd2-i",
      state: "stopped",
      status: "exited",
      labels: { a: "b" },
      startedAt: Date.UTC(2026, 10, 15, 7, 46, 21, 539),
      finishedAt: Date.UTC(2026, 10, 15, 7, 46, 21, 770),
      exitCode: 137,
      oomKilled: true,
      sources: ["/host/run"],
      limits: { cpu: 0.5, memoryMb: 64, diskMb: 512, pids: 20 },
      image: "holdfast-test:base",
    },
    {
      id: PODMAN.Id,
      name: "hd2-a",
      state: "running",
      status: "running",
      labels: {},
      startedAt: Date.UTC(2026, 10, 15, 7, 46, 2, 239),
      finishedAt: null,
      exitCode: 0,
      oomKilled: false,
      sources: [],
      limits: { cpu: 0, memoryMb: 0, diskMb: 0, pids: 0 },
      image: "localhost/holdfast-test:base",
    },
  ]);
});

test.each([
  ["running", "running"],
  ["Running", "running"],
  ["paused", "paused"],
  ...["created", "configured", "initialized", "exited", "stopped", "stopping", "dead", "removing", "restarting", "unknown"].map(
    (status) => [status, "stopped"],
  ),
])("S14 the status %j counts as %j", (status, state) => {
  expect(parseInspect(JSON.stringify([{ ...DOCKER, State: { Status: status } }]))[0]?.state).toBe(state);
});

test.each([
  ["2026-11-15T07:46:21.770864568Z", Date.UTC(2026, 10, 15, 7, 46, 21, 770)],
  ["2026-11-15T07:46:21.77Z", Date.UTC(2026, 10, 15, 7, 46, 21, 770)],
  ["2026-11-15T07:46:21Z", Date.UTC(2026, 10, 15, 7, 46, 21)],
  ["2026-11-15T09:46:21.770864568+02:00", Date.UTC(2026, 10, 15, 7, 46, 21, 770)],
  ["2026-11-15 07:46:21.770864568 +0000 UTC", Date.UTC(2026, 10, 15, 7, 46, 21, 770)],
  ["0001-01-01T00:00:00Z", null],
  ["0001-01-01T00:00:00.000000001Z", null],
  ["2026-13-45T99:99:99Z", null],
  ["2026-11-15", null],
  ["2026-11-15T07:46:21", null],
  ["yesterday", null],
  ["", null],
  [undefined, null],
  [null, null],
  [1_700_000_000, null],
])("S28 the time %j is read as %j", (text, at) => expect(parseEngineTime(text)).toBe(at));

test("fields that are missing, foreign or of another type are never an error", () => {
  const NONE = { cpu: 0, memoryMb: 0, diskMb: 0, pids: 0 };
  const bare = { id: "x", name: "", state: "stopped", status: "", labels: {}, startedAt: null, finishedAt: null, exitCode: null };
  for (const rest of [
    {},
    { State: null, Config: [] },
    { State: "x", Config: 1, Name: {}, Extra: { deep: [1] } },
    { Config: { Labels: "x" } },
  ])
    expect(parseInspect(JSON.stringify([{ Id: "x", ...rest }]))).toEqual([
      { ...bare, oomKilled: false, sources: [], limits: NONE, image: "" },
    ]);
  const [odd] = parseInspect(JSON.stringify([{ ...DOCKER, Config: { Labels: { a: "b", n: 1 } } }]));
  expect([odd?.labels, odd?.image]).toEqual([{ a: "b" }, DOCKER.Image]);
  expect(parseInspect("[]\n")).toEqual([]);
});

test.each(["", "Error: x", "{}", "null", "[{}]", "[1]"])("%j is an error, not an empty answer", (text) => {
  expect(() => parseInspect(text)).toThrow(expect.objectContaining({ code: "backend-broken", facts: { beginning: text } }));
});
