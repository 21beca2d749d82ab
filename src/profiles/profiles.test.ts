import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
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
      await expect(at.profiles.create("ok", { cloneFrom: name })).rejects.toMatchObject(refusal);
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

  test("K2 a clone has the settings, also where they are a link, and nothing else", async () => {
    await using at = await emptyRoot();
    const { home } = await at.profiles.create("one");
    await writeFile(join(home, "shared.yaml"), "terminal:\n  timeout: 7\n");
    await symlink("shared.yaml", join(home, "config.yaml"));
    await writeFile(join(home, "SOUL.md"), "be kind\n");
    await writeFile(join(home, ".env"), "SECRET=1\n");
    await mkdir(join(home, "sandboxes"));
    const clone = await at.profiles.create("two", { cloneFrom: "one" });
    expect((await readdir(clone.home)).sort()).toEqual([".env", "SOUL.md", "config.yaml"]);
    // A change of the one must not change the other.
    await writeFile(join(home, "shared.yaml"), "");
    expect(await readFile(join(clone.home, "config.yaml"), "utf8")).toContain("timeout: 7");
    expect(await readFile(join(clone.home, ".env"), "utf8")).not.toContain("SECRET");
  });

  test("K2 a profile that cannot be made leaves nothing behind", async () => {
    await using at = await emptyRoot();
    const { home } = await at.profiles.create("one");
    await mkdir(join(home, "config.yaml"));
    await expect(at.profiles.create("two", { cloneFrom: "one" })).rejects.toMatchObject({ code: "state-write-failed" });
    expect(await readdir(join(at.root, "profiles"))).toEqual(["one"]);
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
