import { expect, test } from "vitest";
import { findEngine } from "./find-engine.ts";

/** What is found on a machine that has exactly these programs. */
const find = (programs: string[], { override = null, path = "/a:/b" }: { override?: string | null; path?: string } = {}) =>
  findEngine({
    override: override === null ? null : { name: "HERMES_DOCKER_BINARY", value: override },
    path,
    exists: (candidate) => programs.includes(candidate),
  });

const DESKTOP = "/Applications/Docker.app/Contents/Resources/bin/docker";
const notFound = (text: string) => expect.objectContaining({ code: "engine-not-found", message: expect.stringContaining(text) });

test("S1 docker on PATH comes first, then podman on PATH, then the known places", () => {
  const machine = ["/b/docker", "/a/podman", "/usr/local/bin/docker", "/opt/homebrew/bin/docker", DESKTOP, "/opt/homebrew/bin/podman"];
  for (const [index, program] of machine.entries()) expect(find(machine.slice(index))).toBe(program);
  expect(find(["/a/docker", "/b/docker"])).toBe("/a/docker");
});

test("S1 the program that is named is used, by its path or by its name on PATH", () => {
  const machine = ["/a/docker", "/b/podman", "/x/nerdctl"];
  expect(find(machine, { override: "/x/nerdctl" })).toBe("/x/nerdctl");
  expect(find(machine, { override: "podman" })).toBe("/b/podman");
});

test("S1 one that is named and missing is an error, not another engine", () => {
  for (const override of ["/x/docker", "nerdctl", "./docker", "a/docker"])
    expect(() => find(["/a/docker", "./docker", "a/docker", "/a/a/docker"], { override })).toThrow(
      notFound(`: HERMES_DOCKER_BINARY names "${override}"`),
    );
});

test("S1 nothing found says so", () => {
  expect(() => find([])).toThrow(notFound("Docker executable not found in PATH or known install locations"));
});

test("S1 the current directory is never looked in", () => {
  expect(() => find(["docker", "./docker", "bin/docker"], { path: ":.:bin:" })).toThrow(notFound("not found"));
});
