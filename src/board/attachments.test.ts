import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { forEachTest } from "../../test/helpers/suite.ts";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { keepFiles, removeCopies, safeName } from "./attachments.ts";
import { boardFiles } from "./files.ts";
import { LARGEST_ATTACHMENT } from "./schema.ts";

describe("K30 saving artifacts", () => {
  const scratch = forEachTest(temporaryDirectory);
  const files = () => boardFiles(join(scratch.path, "home"));
  const kept = () => files().attachments("default", "t_1");
  const workspace = () => join(scratch.path, "work");
  const save = (...paths: string[]) =>
    keepFiles(
      kept(),
      paths.map((path) => ({ path })),
      { within: workspace() },
    );
  const put = async (path: string, text: string) => {
    await mkdir(join(workspace(), path, ".."), { recursive: true });
    await writeFile(join(workspace(), path), text);
  };
  const nothingKept = async () => expect(await readdir(kept()).catch(() => [])).toEqual([]);

  test("K30 copies regular files of the workspace, private, under names that never meet", async () => {
    await put("report.md", "one");
    await put("sub/report.md", "two");
    await put("data", "three");
    const saved = await save("report.md", join(workspace(), "sub/report.md"), "data", "data");
    expect(saved).toEqual([
      { name: "report.md", path: join(kept(), "report.md"), contentType: "text/markdown", size: 3 },
      { name: "report.md", path: join(kept(), "report-2.md"), contentType: "text/markdown", size: 3 },
      { name: "data", path: join(kept(), "data"), contentType: "application/octet-stream", size: 5 },
    ]);
    expect(await readFile(join(kept(), "report-2.md"), "utf8")).toBe("two");
    expect((await stat(join(kept(), "data"))).mode & 0o777).toBe(0o600);
    expect((await stat(kept())).mode & 0o777).toBe(0o700);
    await removeCopies(saved);
    await nothingKept();
  });

  test("K30 a link inside the workspace is resolved, one that leads out is refused", async () => {
    await put("real.txt", "mine");
    await writeFile(join(scratch.path, "secret"), "not mine");
    await mkdir(join(scratch.path, "work-too"));
    await writeFile(join(scratch.path, "work-too", "near"), "not mine");
    await symlink("real.txt", join(workspace(), "inner"));
    await symlink("../secret", join(workspace(), "outer"));
    await symlink("..", join(workspace(), "up"));
    await symlink("loop", join(workspace(), "loop"));
    expect(await save("inner")).toMatchObject([{ name: "inner", size: 4 }]);
    for (const path of ["outer", "up/secret", "../secret", "/etc/passwd", join(scratch.path, "work-too", "near")]) {
      await expect(save(path)).rejects.toMatchObject({ code: "artifact-refused", facts: { reason: "it lies outside" } });
    }
    await expect(save("loop")).rejects.toMatchObject({ code: "artifact-refused", facts: { reason: "its links lead in a circle" } });
    expect(await readdir(kept())).toEqual(["inner"]);
  });

  test("K30 one that cannot be kept undoes the others", async () => {
    await put("good.txt", "good");
    await mkdir(join(workspace(), "folder"));
    execFileSync("mkfifo", [join(workspace(), "pipe")]);
    for (const [path, reason] of [
      ["missing", "it does not exist"],
      ["good.txt/below", "it does not exist"],
      ["folder", "it is a directory"],
      ["pipe", "it is not a regular file"],
      [".", "it lies outside"],
      ["", "it is not a path"],
      ["a\0b", "it is not a path"],
    ] as const) {
      await expect(save("good.txt", path)).rejects.toMatchObject({ code: "artifact-refused", facts: { reason } });
      await nothingKept();
    }
  });

  test("K30 takes 25 MiB and not one byte more", async () => {
    await put("most", "");
    await put("more", "");
    await truncate(join(workspace(), "most"), LARGEST_ATTACHMENT);
    await truncate(join(workspace(), "more"), LARGEST_ATTACHMENT + 1);
    await expect(save("most", "more")).rejects.toMatchObject({ code: "too-large" });
    await nothingKept();
    expect(await save("most")).toMatchObject([{ size: LARGEST_ATTACHMENT }]);
  });

  test("K30 a person may name any file, and what it shall be called", async () => {
    await writeFile(join(scratch.path, "elsewhere"), "text");
    const path = join(scratch.path, "elsewhere");
    const [copy] = await keepFiles(kept(), [{ path, name: "../../notes.PDF" }], { within: null });
    expect(copy).toEqual({ name: "notes.PDF", path: join(kept(), "notes.PDF"), contentType: "application/pdf", size: 4 });
    expect(await keepFiles(kept(), [{ path, contentType: "x/y" }], { within: null })).toMatchObject([{ contentType: "x/y" }]);
  });

  test("K30 does not write through a link that waits under its name", async () => {
    await put("a.txt", "one");
    await mkdir(kept(), { recursive: true });
    await symlink(join(scratch.path, "victim"), join(kept(), "a.txt"));
    expect(await save("a.txt")).toMatchObject([{ path: join(kept(), "a-2.txt") }]);
    expect(await readdir(scratch.path)).not.toContain("victim");
  });

  test("K30 says so when it cannot write", async () => {
    await put("good.txt", "good");
    await mkdir(join(kept(), ".."), { recursive: true });
    await writeFile(kept(), "a file where the directory should be");
    await expect(save("good.txt")).rejects.toMatchObject({ code: "state-write-failed" });
  });
});

describe("K30 names of attachments", () => {
  test.each([
    ["/a/b/c.txt", "c.txt"],
    ["dir/", "dir"],
    ["/", "file"],
    ["..", "_."],
    [".env", "_env"],
    ["-rf", "_rf"],
    ["new\nline\u0007.md", "new_line_.md"],
    ["back\\slash", "back_slash"],
    ["turned\u202egnp.exe", "turned_gnp.exe"],
    ["half\ud800.txt", "half\ufffd.txt"],
  ])("%j is kept as %j", (path, name) => expect(safeName(path)).toBe(name));

  test("long ones are cut between characters, and keep their ending", () => {
    const name = safeName(`${"ä".repeat(300)}.tar`);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200);
    expect(name).toMatch(/^ä+\.tar$/);
    expect(Buffer.byteLength(safeName(`x.${"y".repeat(500)}`))).toBeLessThanOrEqual(200);
  });
});
