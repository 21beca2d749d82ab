import { describe, expect, test } from "vitest";
import { guardHome, mountArgs, parseVolume, planMounts } from "./mounts.ts";

const home = "/home/me";
const badValue = (text: string) => expect.objectContaining({ code: "config-bad-value", message: expect.stringContaining(text) });

test.each([
  ["/data:/data", { source: "/data", target: "/data", readOnly: false }],
  ["/data:/data:ro", { source: "/data", target: "/data", readOnly: true }],
  ["/data:/data:rw", { source: "/data", target: "/data", readOnly: false }],
  ["~/src:/src", { source: "/home/me/src", target: "/src", readOnly: false }],
  ["~:/me", { source: "/home/me", target: "/me", readOnly: false }],
  ["/a/../b//c/:/x/./y/", { source: "/b/c", target: "/x/y", readOnly: false }],
  ["cache:/root/.cache", { source: "cache", target: "/root/.cache", readOnly: false }],
  ["/data:/data:z", { source: "/data", target: "/data", readOnly: false, options: ["z"] }],
  ["/data:/data:ro,Z", { source: "/data", target: "/data", readOnly: true, options: ["Z"] }],
  ["/data:/data:rw,rslave", { source: "/data", target: "/data", readOnly: false, options: ["rslave"] }],
])("S8 the volume %j is understood", (entry, mount) => expect(parseVolume(entry, { home })).toEqual(mount));

test.each([
  "",
  "/data",
  "/data:",
  ":/data",
  "/data:data",
  "/data:/",
  "/data:/x/..",
  "/data:/x:rx",
  "/a:/b:ro:z",
  "/a:/b:ro,",
  "/a:/b:z,volume-driver",
  "./a:/b",
  "a/b:/c",
  "~you:/c",
])("S8 the malformed volume %j is an error that names it", (entry) =>
  expect(() => parseVolume(entry, { home })).toThrow(badValue(JSON.stringify(entry))),
);

describe("S8 S9 the workspace and the home directory", () => {
  const kept = { workspace: "/k/workspace", home: "/k/home" };
  const bind = (source: string, target: string) => ({ source, target, readOnly: false });
  const none = { volumes: [], callerDirectory: null, kept: null, home: "/root" };

  test("are the sandbox's own directories when files are kept, and nothing otherwise", () => {
    expect(planMounts({ ...none, kept })).toEqual([bind("/k/workspace", "/workspace"), bind("/k/home", "/root")]);
    expect(planMounts(none)).toEqual([]);
  });

  test("the caller's directory replaces the kept workspace", () => {
    expect(planMounts({ ...none, kept, callerDirectory: "/me" })).toEqual([bind("/me", "/workspace"), bind("/k/home", "/root")]);
    expect(planMounts({ ...none, callerDirectory: "/me" })).toEqual([bind("/me", "/workspace")]);
  });

  test("an explicit volume wins over both", () => {
    const volumes = [bind("/v", "/workspace"), bind("/h", "/root"), bind("/d", "/data")];
    expect(planMounts({ ...none, kept, callerDirectory: "/me", volumes })).toEqual(volumes);
  });

  test("two volumes in one place are an error", () => {
    expect(() => planMounts({ ...none, volumes: [bind("/a", "/x"), bind("/b", "/x")] })).toThrow(badValue("/x"));
  });
});

describe("S8 the guard of the home directory", () => {
  test.each(["/", "/home", "/home/", "/home/me", "/home/me/", "/home/x/../me", "/srv", "/srv/holdfast"])("refuses %s", (source) => {
    expect(() => guardHome(source, { realHome: home, holdfastHome: "/srv/holdfast", allowed: false })).toThrow(badValue(source));
    expect(() => guardHome(source, { realHome: home, holdfastHome: "/srv/holdfast", allowed: true })).not.toThrow();
  });
  test.each(["/home/me/src", "/home/me2", "/home/m", "/data", "/hom"])("allows %s", (source) => {
    expect(() => guardHome(source, { realHome: home, holdfastHome: "/srv/holdfast", allowed: false })).not.toThrow();
  });
});

test("S8 a mount is written in the form that its path allows", () => {
  const mount = { source: "/a b:c", target: "/t", readOnly: false };
  expect(mountArgs(mount)).toEqual(["--mount", "type=bind,source=/a b:c,target=/t"]);
  expect(mountArgs({ ...mount, readOnly: true })).toEqual(["--mount", "type=bind,source=/a b:c,target=/t,readonly"]);
  expect(mountArgs({ ...mount, source: "cache" })).toEqual(["--mount", "type=volume,source=cache,target=/t"]);
  expect(mountArgs({ source: "/a,b", target: "/t", readOnly: true })).toEqual(["-v", "/a,b:/t:ro"]);
  expect(() => mountArgs({ ...mount, source: "/a,b:c" })).toThrow(badValue("/a,b:c"));
});

test("S8 S48 options of the engine are handed on as they are written", () => {
  const mount = { source: "/a", target: "/b", readOnly: true };
  expect(mountArgs(mount)).toEqual(["--mount", "type=bind,source=/a,target=/b,readonly"]);
  expect(mountArgs({ ...mount, options: ["Z", "rslave"] })).toEqual(["-v", "/a:/b:ro,Z,rslave"]);
  expect(mountArgs({ ...mount, readOnly: false, options: ["z"] })).toEqual(["-v", "/a:/b:z"]);
});
