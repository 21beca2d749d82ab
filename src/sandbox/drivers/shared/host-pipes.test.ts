import { execFileSync } from "node:child_process";
import { closeSync, fstatSync, readSync, writeFileSync, writeSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openPipes } from "../../../../test/helpers/open-pipes.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../../../../test/helpers/temporary-directory.ts";
import { createPipePool } from "./host-pipe-pool.ts";
import { createInputPipe, createOutputPipes, discardHostPipe } from "./host-pipes.ts";

let scratch: TemporaryDirectory;
beforeAll(async () => {
  scratch = await temporaryDirectory();
});
afterAll(() => scratch[Symbol.asyncDispose]());

describe("pipes for output", () => {
  test("are true pipes, and nothing of them is on the disk", async () => {
    const pipes = await createOutputPipes(scratch.path, 3);
    expect(await readdir(scratch.path)).toEqual([]);
    for (const { ours, theirs } of pipes) {
      expect([fstatSync(ours).isFIFO(), fstatSync(theirs).isFIFO()]).toEqual([true, true]);
      writeSync(theirs, "through");
      const buffer = Buffer.alloc(20);
      expect(buffer.toString("utf8", 0, readSync(ours, buffer))).toBe("through");
      discardHostPipe({ ours, theirs });
    }
  });

  test("that cannot be made are an error with mkfifo's own words, and leave nothing open", async () => {
    const before = openPipes();
    await expect(createOutputPipes("/not/there", 1)).rejects.toMatchObject({
      code: "state-write-failed",
      facts: { directory: "/not/there" },
    });
    expect(openPipes()).toBe(before);
  });

  test("need mkfifo, and say so where it is missing", async () => {
    vi.stubEnv("PATH", "/not/there");
    try {
      await expect(createOutputPipes(scratch.path, 1)).rejects.toMatchObject({
        code: "spawn-failed",
        message: expect.stringContaining("mkfifo"),
        hint: expect.stringContaining("install mkfifo"),
      });
    } finally {
      vi.unstubAllEnvs();
    }
    expect(await readdir(scratch.path)).toEqual([]);
  });
});

describe("without free descriptors", () => {
  // The limit is reached by hand, because under a very low one Node itself would not start.
  const PROGRAM = `const { createInputPipe, createOutputPipes, discardHostPipe } = await import(process.argv[1]);
const { openSync, closeSync } = await import("node:fs");
const said = new Set();
const taken = [];
for (let free = 0; free <= 6; free++) {
  try { for (;;) taken.push(openSync("/dev/null")); } catch {}
  for (const fd of taken.splice(0, free)) closeSync(fd);
  for (const make of [createInputPipe, () => createOutputPipes(process.argv[2], 1)])
    await make().then((made) => [made].flat().forEach(discardHostPipe), (error) => said.add(error.hint ?? error.message));
}
for (const fd of taken) closeSync(fd);
console.log(JSON.stringify([...said]));`;

  test("making pipes fails with a word about the limit, and nothing crashes or stays", async () => {
    const limited = ["--norc", "-c", 'ulimit -n 64; exec "$@"', "bash", process.execPath, "--input-type=module", "-e", PROGRAM];
    const module = new URL("./host-pipes.ts", import.meta.url).pathname;
    const said = execFileSync("bash", [...limited, module, scratch.path], { encoding: "utf8" });
    expect(JSON.parse(said)).toEqual(["raise the limit on open files (`ulimit -n`)"]);
    expect(await readdir(scratch.path)).toEqual([]);
  });
});

describe("a pipe for input", () => {
  test("ends when our end is closed, also for who opens it by name afterwards", async () => {
    const { ours, theirs } = await createInputPipe();
    writeSync(ours, "all of it");
    closeSync(ours);
    const read = (script: string) =>
      execFileSync("bash", ["--norc", "-c", script], { stdio: [theirs, "pipe", "inherit"], encoding: "utf8" });
    expect(read("head -c 4 /dev/stdin; cat /dev/stdin; cat /dev/stdin")).toMatch(/^all /);
    expect(read("cat /dev/stdin; echo end")).toMatch(/end\n$/);
    closeSync(theirs);
  });

  test("does not run the start-up files of the shell that makes it", async () => {
    const home = join(scratch.path, "home");
    await mkdir(home);
    for (const name of [".bashrc", ".bash_profile", "env"]) writeFileSync(join(home, name), `touch ${home}/ran\n`);
    // Bash takes itself for the first shell of a login.
    for (const [name, value] of Object.entries({ HOME: home, BASH_ENV: join(home, "env"), SHLVL: "0" })) vi.stubEnv(name, value);
    try {
      discardHostPipe(await createInputPipe());
    } finally {
      vi.unstubAllEnvs();
    }
    expect((await readdir(home)).sort()).toEqual([".bash_profile", ".bashrc", "env"]);
  });

  test("leaves nothing open", async () => {
    const before = openPipes();
    for (let round = 0; round < 5; round++) discardHostPipe(await createInputPipe());
    expect(openPipes()).toBe(before);
  });
});

describe("the pool", () => {
  test("hands out as many as asked for, also to many at once, and never one twice", async () => {
    const pool = createPipePool(scratch.path);
    const taken = (await Promise.all(Array.from({ length: 30 }, (_, index) => pool.take(1 + (index % 2))))).flat();
    expect(taken).toHaveLength(45);
    expect(new Set(taken.flatMap(({ ours, theirs }) => [ours, theirs])).size).toBe(90);
    for (const pipe of taken) discardHostPipe(pipe);
    await pool.close();
  });

  test("closes what nobody took, and then gives nothing more", async () => {
    const before = openPipes();
    const pool = createPipePool(scratch.path);
    for (const pipe of await pool.take(1)) discardHostPipe(pipe);
    await pool.close();
    await pool.close();
    expect(openPipes()).toBe(before);
    await expect(pool.take(1)).rejects.toMatchObject({ code: "closed" });
  });

  test("refuses who was waiting when it closed", async () => {
    const before = openPipes();
    const pool = createPipePool(scratch.path);
    const waiting = pool.take(2);
    const closing = pool.close();
    await expect(waiting).rejects.toMatchObject({ code: "closed" });
    await closing;
    expect(openPipes()).toBe(before);
  });

  test("can be asked again after a failure", async () => {
    const directory = join(scratch.path, "later");
    const pool = createPipePool(directory);
    await expect(pool.take(1)).rejects.toMatchObject({ code: "state-write-failed" });
    await mkdir(directory);
    for (const pipe of await pool.take(1)) discardHostPipe(pipe);
    await pool.close();
  });
});
