import { execFileSync, spawnSync } from "node:child_process";
import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { readDescription, writeDescription } from "./description.ts";
import { readPortable } from "./portable.ts";
import { createProfiles } from "./profiles.ts";

async function emptyRoot() {
  const directory = await temporaryDirectory();
  const root = join(directory.path, "root");
  return { root, profiles: createProfiles(root), [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose]() };
}

describe("profiles", () => {
  test("K1 default is the root itself and exists before anything was made; the others live below it", async () => {
    await using at = await emptyRoot();
    expect(await at.profiles.list()).toEqual([{ name: "default", home: at.root, made: false }]);
    expect(await at.profiles.find(" DEFAULT ")).toMatchObject({ name: "default" });
    const made = await at.profiles.create("Reviewer");
    expect(made).toEqual({ name: "reviewer", home: join(at.root, "profiles/reviewer"), made: true });
    expect((await stat(made.home)).mode & 0o777).toBe(0o700);
    expect((await stat(join(made.home, ".env"))).mode & 0o777).toBe(0o600);
    expect((await at.profiles.list()).map(({ name }) => name)).toEqual(["default", "reviewer"]);
  });

  test("K1 what is no profile is not listed: files, links, folders with other names", async () => {
    await using at = await emptyRoot();
    const folder = join(at.root, "profiles");
    await mkdir(join(folder, "real"), { recursive: true });
    await mkdir(join(folder, "Not-A-Name"));
    await mkdir(join(folder, ".new-0123"));
    await mkdir(join(folder, "default"));
    await writeFile(join(folder, "file"), "");
    await symlink("/", join(folder, "leads-out"));
    expect((await at.profiles.list()).map(({ name }) => name)).toEqual(["default", "real"]);
    await expect(at.profiles.find("leads-out")).rejects.toMatchObject({ code: "profile-not-found" });
  });

  test("a sticky choice that is a pipe is an error, and nobody waits for it", async () => {
    await using at = await emptyRoot();
    await mkdir(at.root);
    execFileSync("mkfifo", [join(at.root, "active-profile")]);
    await expect(at.profiles.sticky()).rejects.toMatchObject({ code: "state-unreadable" });
  });

  test("K1 the root may be a link", async () => {
    await using at = await emptyRoot();
    await mkdir(`${at.root}-elsewhere`);
    await symlink(`${at.root}-elsewhere`, at.root);
    expect(await at.profiles.list()).toEqual([{ name: "default", home: at.root, made: true }]);
  });

  test.each([["../x"], ["a/b"], [""], ["."], ["a\0"], ["x".repeat(65)]])(
    "K1 %j is refused by everything that takes a name",
    async (name) => {
      await using at = await emptyRoot();
      const refusal = { code: "invalid-name" };
      expect(() => at.profiles.home(name)).toThrow("is not a valid profile name");
      await expect(at.profiles.find(name)).rejects.toMatchObject(refusal);
      await expect(at.profiles.create(name)).rejects.toMatchObject(refusal);
      await expect(at.profiles.rename(name, "ok")).rejects.toMatchObject(refusal);
      await expect(at.profiles.rename("default", name)).rejects.toMatchObject(refusal);
      await expect(at.profiles.remove(name)).rejects.toMatchObject(refusal);
      await expect(at.profiles.use(name)).rejects.toMatchObject(refusal);
      expect(await at.profiles.list()).toHaveLength(1);
    },
  );

  test("K2 of many that make the same profile at once, one does", async () => {
    await using at = await emptyRoot();
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => at.profiles.create("same")));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "profile-exists" });
    }
    expect(await readdir(join(at.root, "profiles"))).toEqual(["same"]);
  });

  test("K2 what a profile takes along is its settings, also where they are links, its description and skills, and nothing else", async () => {
    await using at = await emptyRoot();
    const { home } = await at.profiles.create("one");
    await writeFile(join(home, "shared.yaml"), "terminal:\n  timeout: 7\n");
    await symlink("shared.yaml", join(home, "config.yaml"));
    await writeFile(join(home, "SOUL.md"), "be kind\n");
    await writeDescription(home, " reads ");
    await writeFile(join(home, ".env"), "SECRET=1\n");
    for (const folder of ["sandboxes", "output", "tasks", "skills/deep", "skills/.git"])
      await mkdir(join(home, folder), { recursive: true });
    for (const file of ["audit.log", "skills/.git/config", "skills/.env", "skills/a.pem", "skills/plain.md"])
      await writeFile(join(home, file), "x");
    await writeFile(join(home, "skills/deep/run.sh"), "true\n", { mode: 0o755 });
    await symlink("/etc/passwd", join(home, "skills/link"));
    const { files, leftOut } = await readPortable(home);
    expect(leftOut.map(({ path }) => path)).toEqual(["skills/.env", "skills/.git", "skills/a.pem", "skills/link"]);
    const clone = await at.profiles.create("two", { files });
    expect((await readdir(clone.home, { recursive: true })).sort()).toEqual([
      ...[".env", "SOUL.md", "config.yaml", "profile.json", "skills", "skills/deep", "skills/deep/run.sh", "skills/plain.md"],
    ]);
    expect(readDescription(clone.home)).toBe("reads");
    expect((await stat(join(clone.home, "skills/deep/run.sh"))).mode & 0o777).toBe(0o700);
    // A change of the one must not change the other.
    await writeFile(join(home, "shared.yaml"), "");
    expect(await readFile(join(clone.home, "config.yaml"), "utf8")).toContain("timeout: 7");
    expect(await readFile(join(clone.home, ".env"), "utf8")).not.toContain("SECRET");
  });

  test("K2 a profile that cannot be made leaves nothing behind", async () => {
    await using at = await emptyRoot();
    const file = { path: "config.yaml", content: Buffer.from(""), executable: false };
    await expect(at.profiles.create("two", { files: [file, file] })).rejects.toMatchObject({ code: "state-write-failed" });
    expect(await readdir(join(at.root, "profiles"))).toEqual([]);
  });

  test("K2 a profile gets another name with all it has, and the sticky choice follows", async () => {
    await using at = await emptyRoot();
    await at.profiles.create("one");
    await at.profiles.create("taken");
    await at.profiles.use("one");
    await writeFile(join(at.root, "profiles/one/SOUL.md"), "x");
    for (const to of ["taken", "default", "one"])
      await expect(at.profiles.rename("one", to)).rejects.toMatchObject({ code: "profile-exists" });
    await expect(at.profiles.rename("default", "two")).rejects.toMatchObject({ code: "invalid-input" });
    expect(await at.profiles.rename(" ONE ", "Two")).toMatchObject({ profile: { name: "two", made: true }, sticky: true });
    expect(await at.profiles.sticky()).toBe("two");
    expect(await readFile(join(at.root, "profiles/two/SOUL.md"), "utf8")).toBe("x");
    expect((await at.profiles.list()).map(({ name }) => name)).toEqual(["default", "taken", "two"]);
    expect(await at.profiles.rename("taken", "free")).toMatchObject({ sticky: false });
  });

  test("K2 of many that give one profile different names at once, one does, and the profile is whole", async () => {
    await using at = await emptyRoot();
    await at.profiles.create("one");
    const outcomes = await Promise.allSettled(["a", "b", "c", "d"].map((name) => at.profiles.rename("one", name)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const [, left] = await at.profiles.list();
    expect(await readdir(left?.home ?? "")).toEqual([".env"]);
  });

  test("K2 a deleted profile is gone with all it had; default, links and what links lead to stay", async () => {
    await using at = await emptyRoot();
    const { home } = await at.profiles.create("one");
    const outside = join(at.root, "outside");
    await mkdir(outside);
    await writeFile(join(outside, "precious"), "x");
    await symlink(outside, join(home, "link"));
    await symlink(outside, join(at.root, "profiles/linked"));
    await at.profiles.use("one");
    await expect(at.profiles.remove("Default")).rejects.toMatchObject({ code: "invalid-input" });
    await expect(at.profiles.remove("linked")).rejects.toMatchObject({
      code: "profile-not-found",
      message: expect.stringContaining("is a link"),
    });
    expect(await at.profiles.remove("one")).toEqual({ sticky: true });
    expect(await at.profiles.sticky()).toBeNull();
    expect(await readdir(join(at.root, "profiles"))).toEqual(["linked"]);
    expect(await readdir(outside)).toEqual(["precious"]);
  });

  test("K2 what a killed process left in the middle of its work is no profile, and the next one clears it away", async () => {
    await using at = await emptyRoot();
    const { pid: dead } = spawnSync("true");
    await at.profiles.create("one");
    const left = [`.new-${dead}-0123456789ab`, `.gone-${dead}-0123456789ab`];
    const others = [`.new-${process.pid}-0123456789ab`, ".new-x", `.old-${dead}-0123456789ab`];
    for (const next of [() => at.profiles.create("two"), () => at.profiles.remove("two")]) {
      for (const name of [...left, ...others]) await mkdir(join(at.root, "profiles", name, "deep"), { recursive: true });
      expect((await at.profiles.list()).map(({ name }) => name)).not.toContain(left[0]);
      await next();
      expect((await readdir(join(at.root, "profiles"))).filter((name) => name.startsWith(".")).sort()).toEqual(others.toSorted());
    }
  });

  test("K3 the sticky choice is kept, and must exist", async () => {
    await using at = await emptyRoot();
    expect(await at.profiles.sticky()).toBeNull();
    await expect(at.profiles.use("nosuch")).rejects.toMatchObject({ code: "profile-not-found" });
    await at.profiles.create("reviewer");
    await at.profiles.use("Reviewer");
    expect(await createProfiles(at.root).sticky()).toBe("reviewer");
    await at.profiles.use("default");
    expect(await at.profiles.sticky()).toBe("default");
  });

  test("K3 a sticky choice that cannot be read is an error, not another profile", async () => {
    await using at = await emptyRoot();
    await mkdir(join(at.root, "active-profile"), { recursive: true });
    await expect(at.profiles.sticky()).rejects.toMatchObject({ code: "state-unreadable" });
  });
});
