import { existsSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ENGINE_LIMIT_MS, testEngine } from "../../../../test/helpers/engine.ts";
import { failureOf } from "../../../../test/helpers/failure-of.ts";
import { createManualClock } from "../../../../test/helpers/manual-clock.ts";
import { describeIf } from "../../../../test/helpers/requirements.ts";
import { temporaryDirectory } from "../../../../test/helpers/temporary-directory.ts";
import { systemClock } from "../../../base/clock.ts";
import { createEngine, type Engine, type EngineResult } from "./engine.ts";
import { findEngine } from "./find-engine.ts";
import { preflight } from "./preflight.ts";
import { QUIRKS } from "./quirks.ts";

const answering = (result: Partial<EngineResult>): Engine => ({
  program: "/x/docker",
  run: async () => ({ code: 0, stdout: "", stderr: "", ...result }),
});

describeIf(["dockerd", "mmdebstrap"], "S2 with the real client", () => {
  const docker = (variables: Record<string, string>, clock = systemClock) =>
    createEngine(dockerProgram(), { env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent", ...variables }, clock });

  test(
    "an engine that works says which it is",
    async () => {
      const { env } = await testEngine();
      expect(await preflight(docker(env))).toMatchObject({
        kind: "docker",
        version: expect.stringMatching(/^\d+\./),
        quirks: QUIRKS.docker,
      });
    },
    ENGINE_LIMIT_MS,
  );

  test("an engine that is not there is one that does not respond", async () => {
    const failure = await failureOf(preflight(docker({ DOCKER_HOST: "unix:///nonexistent/docker.sock" })));
    expect(failure).toMatchObject({
      code: "engine-not-responding",
      message: expect.stringMatching(/^Docker daemon is not responding: `\/.*docker version` says .*\/nonexistent\/docker\.sock/),
    });
  });

  test("an engine that never answers is given 5 s", async () => {
    await using scratch = await temporaryDirectory();
    const socket = join(scratch.path, "s");
    const clock = createManualClock();
    const connected = Promise.withResolvers<Socket>();
    const server = createServer(connected.resolve).listen(socket);
    const failure = failureOf(preflight(docker({ DOCKER_HOST: `unix://${socket}` }, clock)));
    (await connected.promise).on("error", () => undefined);
    await clock.advance(4_999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    expect(await failure).toMatchObject({
      code: "engine-not-responding",
      message: expect.stringMatching(/^Docker daemon is not responding: `\/.*docker version` gave no answer within 5 s$/),
    });
    (await connected.promise).destroy();
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("S2 not being permitted", () => {
  const stderr =
    'WARNING: Error loading config file: open /root/.docker/config.json: permission denied\npermission denied while trying to connect to the Docker daemon socket at unix:///run/d.sock: Get "http://x/v1.50/version": dial unix /run/d.sock: connect: permission denied\n';

  test("names the socket and its group", async () => {
    const failure = await failureOf(preflight(answering({ code: 1, stderr }), { groupOf: async (path) => `group-of-${path}` }));
    expect(failure).toMatchObject({
      code: "engine-not-responding",
      message:
        "Docker daemon is not responding: `/x/docker version` is not permitted to open /run/d.sock, which only members of the group group-of-/run/d.sock may",
      hint: expect.stringContaining("add yourself to the group group-of-/run/d.sock"),
    });
  });

  test("does without the group when it cannot be told", async () => {
    const failure = await failureOf(preflight(answering({ code: 1, stderr: stderr.replaceAll("/run/d.sock", "/nonexistent/d.sock") })));
    expect(failure).toMatchObject({ message: expect.stringMatching(/not permitted to open \/nonexistent\/d\.sock$/) });
  });
});

test("S3 podman is told apart by its client", async () => {
  const stdout =
    '{"Client":{"APIVersion":"4.3.1","Version":"4.3.1","GoVersion":"go1.19.8","BuiltTime":"Thu Jan  1 00:00:00 1970","OsArch":"linux/amd64","Os":"linux"}}\n';
  expect(await preflight(answering({ stdout }))).toEqual({ kind: "podman", server: "podman", version: "4.3.1", quirks: QUIRKS.podman });
});

test("S3 a podman behind docker's client is told by its name", async () => {
  const stdout = (name: string) => `{"Client":{"Version":"28.2"},"Server":{"Version":"5.4","Components":[{"Name":"${name}"}]}}`;
  expect(await preflight(answering({ stdout: stdout("Podman Engine") }))).toMatchObject({ kind: "docker", server: "podman" });
  expect(await preflight(answering({ stdout: stdout("Engine") }))).toMatchObject({ kind: "docker", server: "docker" });
});

test.each(["", "docker 1.2", "null", "{}", '{"Client":{"Version":1}}'])("an answer like %j is none", async (stdout) => {
  expect(await failureOf(preflight(answering({ stdout })))).toMatchObject({ code: "backend-broken", facts: { beginning: stdout } });
});

function dockerProgram(): string {
  const path = process.env.PATH ?? "";
  return findEngine({ override: { name: "HOLDFAST_DOCKER_BINARY", value: "docker" }, path, exists: existsSync });
}
