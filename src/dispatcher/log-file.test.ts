import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { forEachTest } from "../../test/helpers/suite.ts";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { openTaskLog, readTaskLog } from "./log-file.ts";

const SMALL = { rotateBytes: 20, backups: 2, header: "run 1" };
const WRITER = join(import.meta.dirname, "../../test/dispatcher/log-writer.ts");

describe("K27 the log of a task", () => {
  const scratch = forEachTest(temporaryDirectory);
  const path = () => join(scratch.path, "logs", "t_1.log");
  const names = () => readdir(join(scratch.path, "logs"));
  const text = (name: string) => readFile(join(scratch.path, "logs", name), "utf8");

  test("K27 appends, with a line of its own for each run", async () => {
    for (const header of ["run 1", "run 2\nforged", "run 3"]) {
      const log = await openTaskLog(path(), { rotateBytes: 1000, backups: 1, header });
      log.write(Buffer.from(header === "run 1" ? "no end of line" : "said\n"));
      log.close();
    }
    expect(await text("t_1.log")).toBe("run 1\nno end of line\nrun 2 forged\nsaid\nrun 3\nsaid\n");
    expect((await stat(path())).mode & 0o777).toBe(0o600);
    expect((await stat(join(scratch.path, "logs"))).mode & 0o777).toBe(0o700);
  });

  test("K27 rotates while it is written, and also cuts a chunk that is larger than a file", async () => {
    const log = await openTaskLog(path(), SMALL);
    log.write(Buffer.from("0123456789\n"));
    log.write(Buffer.from("abcdefghij\n"));
    log.write(Buffer.from("x".repeat(45)));
    expect(await names()).toEqual(["t_1.log", "t_1.log.1", "t_1.log.2"]);
    expect(await text("t_1.log")).toBe("x".repeat(5));
    expect(await text("t_1.log.1")).toBe("x".repeat(20));
    log.write(Buffer.from("y"));
    log.close();
    expect(await text("t_1.log")).toBe("xxxxxy");
  });

  test("K27 keeps no older file when none is wanted, and drops those of a time when more were", async () => {
    const log = await openTaskLog(path(), SMALL);
    log.write(Buffer.from("x".repeat(100)));
    log.close();
    const alone = await openTaskLog(path(), { ...SMALL, backups: 0 });
    expect(await names()).toEqual(["t_1.log"]);
    alone.write(Buffer.from("y".repeat(30)));
    alone.close();
    expect(await names()).toEqual(["t_1.log"]);
    expect(await text("t_1.log")).toBe("y".repeat(10));
  });

  test("K27 a worker that floods it leaves what was allowed on the disk, and nothing in memory", async () => {
    const rotateBytes = 2 * 1024 * 1024;
    const log = await openTaskLog(path(), { rotateBytes, backups: 1, header: "run 1" });
    const chunk = Buffer.alloc(64 * 1024, "flood\n");
    const before = process.memoryUsage().arrayBuffers;
    for (let written = 0; written < 256 * 1024 * 1024; written += chunk.length) log.write(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1024 * 1024);
    log.close();
    const sizes = await Promise.all((await names()).map(async (name) => (await stat(join(scratch.path, "logs", name))).size));
    expect(sizes).toHaveLength(2);
    for (const size of sizes) expect(size).toBeLessThanOrEqual(rotateBytes);
  });

  test("K27 follows no link, neither to write nor to read", async () => {
    const target = join(scratch.path, "target");
    await writeFile(target, "whole");
    await mkdir(join(scratch.path, "logs"));
    await symlink(target, path());
    await expect(openTaskLog(path(), SMALL)).rejects.toMatchObject({
      code: "state-write-failed",
      message: expect.stringContaining("link"),
    });
    expect(() => readTaskLog(path(), 10)).toThrow("it is a link");
    expect(await readFile(target, "utf8")).toBe("whole");
    expect(await readlink(path())).toBe(target);
  });

  test("K27 an older log that became a link is replaced, not written through", async () => {
    const target = join(scratch.path, "target");
    await writeFile(target, "whole");
    const log = await openTaskLog(path(), { ...SMALL, backups: 1 });
    await symlink(target, `${path()}.1`);
    log.write(Buffer.from("x".repeat(30)));
    log.close();
    expect(await readFile(target, "utf8")).toBe("whole");
    expect(await text("t_1.log.1")).toBe("x".repeat(20));
  });

  test("K27 a pipe or directory in its place is an error, not a wait", async () => {
    await mkdir(path(), { recursive: true });
    await expect(openTaskLog(path(), SMALL)).rejects.toMatchObject({ code: "state-write-failed" });
    execFileSync("mkfifo", [join(scratch.path, "logs", "pipe")]);
    await expect(openTaskLog(join(scratch.path, "logs", "pipe"), SMALL)).rejects.toMatchObject({ code: "state-write-failed" });
    expect(() => readTaskLog(join(scratch.path, "logs", "pipe"), 10)).toThrow("not a regular file");
  });

  test("K27 the last bytes are read over all its files", async () => {
    expect(readTaskLog(path(), 10)).toHaveLength(0);
    const log = await openTaskLog(path(), SMALL);
    for (const letter of ["a", "b", "c", "d"]) log.write(Buffer.from(letter.repeat(15)));
    log.close();
    expect(readTaskLog(path(), 0).toString()).toBe("");
    expect(readTaskLog(path(), 5).toString()).toBe("ddddd");
    expect(readTaskLog(path(), 20).toString()).toBe(`${"c".repeat(5)}${"d".repeat(15)}`);
    expect(readTaskLog(path(), 1000).toString()).toBe(`${"b".repeat(15)}${"c".repeat(15)}${"d".repeat(15)}`);
  });

  test.each([1, 3])(
    "K27 whoever reads while it rotates (%i older) sees no gap and nothing twice; a killed writer has lost nothing",
    async (backups) => {
      const writer = spawn(process.execPath, [WRITER, path(), "4000", String(backups)], { stdio: ["ignore", "pipe", "inherit"] });
      const ended = once(writer, "close");
      try {
        let said = "";
        writer.stdout.on("data", (data: Buffer) => {
          said = (said + data.toString()).slice(-100);
        });
        await once(writer.stdout, "data");
        let seen = 0;
        for (let looks = 0; looks < 300; looks++) {
          const lines = numbers(readTaskLog(path(), 6000));
          for (const [index, line] of lines.entries()) expect(line).toBe((lines[0] as number) + index);
          expect(lines.at(-1) ?? seen).toBeGreaterThanOrEqual(seen);
          seen = lines.at(-1) ?? seen;
        }
        writer.kill("SIGKILL");
        await ended;
        const last = Number(said.trim().split("\n").at(-1));
        expect(numbers(readTaskLog(path(), 6000)).at(-1)).toBeGreaterThanOrEqual(last);
      } finally {
        writer.kill("SIGKILL");
        await ended;
      }
    },
  );
});

/** The whole lines: the first may have been cut. */
function numbers(bytes: Buffer): number[] {
  return bytes.toString().split("\n").slice(1, -1).map(Number);
}
