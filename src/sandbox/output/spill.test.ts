import { mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TemporaryDirectory, temporaryDirectory } from "../../../test/helpers/temporary-directory.ts";
import { systemClock } from "../../base/clock.ts";
import { createSpill, type SpillOptions } from "./spill.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const HOUR_MS = 60 * 60 * 1000;

let scratch: TemporaryDirectory;
let directories = 0;
beforeAll(async () => {
  scratch = await temporaryDirectory();
});
afterAll(() => scratch[Symbol.asyncDispose]());

function spillIn(directory: string, options: Partial<SpillOptions> = {}) {
  return createSpill({ directory, threshold: 10, limit: 1_000_000, clock: systemClock, ...options });
}

function freshDirectory(): string {
  return join(scratch.path, String(directories++));
}

describe("S34 an overflow file", () => {
  test("is not made for what fits in memory", async () => {
    const directory = freshDirectory();
    const spill = spillIn(directory);
    for (const part of ["01234", "56789"]) expect(spill.write(Buffer.from(part))).toBeUndefined();
    expect(await spill.close()).toEqual({ path: null, problem: null });
    await expect(stat(directory)).rejects.toThrow("ENOENT");
  });

  test("holds every byte in the order of arrival, also without waiting in between", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 }), fc.boolean(), async (chunks, waits) => {
        const spill = spillIn(freshDirectory());
        const whole = Buffer.concat(chunks);
        for (const chunk of chunks) {
          const pending = spill.write(chunk);
          if (waits) await pending;
        }
        const { path, problem } = await spill.close();
        expect(problem).toBeNull();
        expect(path === null).toBe(whole.length <= 10);
        if (path !== null) expect((await readFile(path)).equals(whole)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  test("stops at its limit, and says so", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 60 }),
        fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 4 }),
        async (limit, sizes) => {
          const spill = spillIn(freshDirectory(), { limit, threshold: 0 });
          const whole = Buffer.concat(sizes.map((size, index) => Buffer.alloc(size, index)));
          for (let at = 0, turn = 0; turn < sizes.length; at += sizes[turn++] ?? 0)
            await spill.write(whole.subarray(at, at + (sizes[turn] ?? 0)));
          const { path, problem } = await spill.close();
          expect((await readFile(path ?? "")).equals(whole.subarray(0, limit))).toBe(true);
          expect(problem).toBe(whole.length > limit ? `it holds only the first ${limit} bytes` : null);
        },
      ),
      { numRuns: 50 },
    );
  });

  test("of limit 0 is none", async () => {
    const directory = freshDirectory();
    const spill = spillIn(directory, { limit: 0 });
    expect(spill.write(Buffer.alloc(100))).toBeUndefined();
    expect(await spill.close()).toEqual({ path: null, problem: null });
    await expect(stat(directory)).rejects.toThrow("ENOENT");
  });

  test("is private, and gone when discarded", async () => {
    const directory = freshDirectory();
    const spill = spillIn(directory);
    await spill.write(Buffer.alloc(100));
    const { path } = await spill.close();
    expect([(await stat(path ?? "")).mode & 0o777, (await stat(directory)).mode & 0o777]).toEqual([0o600, 0o700]);
    await spill.discard();
    await spill.discard();
    expect(await readdir(directory)).toEqual([]);
  });

  test("that cannot be made is a problem, not a failure", async () => {
    const directory = freshDirectory();
    await writeFile(directory, "a file");
    const spill = spillIn(directory);
    await spill.write(Buffer.alloc(100));
    expect(spill.write(Buffer.alloc(100))).toBeUndefined();
    expect(await spill.close()).toEqual({ path: null, problem: expect.stringMatching(/could not be written.*(EEXIST|ENOTDIR)/) });
    await spill.discard();
  });

  test("is never made, and none removed, behind a link", async () => {
    const elsewhere = freshDirectory();
    await mkdir(elsewhere);
    const precious = join(elsewhere, "2020-01-01T000000.000Z-00000000.log");
    await writeFile(precious, "x");
    await utimes(precious, new Date(0), new Date(0));
    const directory = freshDirectory();
    await symlink(elsewhere, directory);
    const spill = spillIn(directory);
    await spill.write(Buffer.alloc(100));
    expect(await spill.close()).toEqual({ path: null, problem: expect.stringContaining("is a link") });
    expect(await readdir(elsewhere)).toHaveLength(1);
  });
});

describe("old overflow files", () => {
  async function directoryWith(ages: readonly number[]): Promise<string> {
    const directory = freshDirectory();
    await mkdir(directory);
    for (const [index, age] of ages.entries()) {
      const path = join(directory, `${new Date(Date.now() - age).toISOString().replaceAll(":", "")}-${String(index).padStart(8, "0")}.log`);
      await writeFile(path, "old");
      await utimes(path, new Date(), new Date(Date.now() - age));
    }
    return directory;
  }

  async function remaining(directory: string): Promise<number> {
    const spill = spillIn(directory);
    await spill.write(Buffer.alloc(100));
    await spill.close();
    return (await readdir(directory)).length - 1;
  }

  test("go after a week", async () => {
    expect(await remaining(await directoryWith([8 * DAY_MS, 6 * DAY_MS, 30 * DAY_MS, HOUR_MS]))).toBe(2);
  });

  test("go when there are too many, the oldest first", async () => {
    const directory = await directoryWith(Array.from({ length: 80 }, (_, index) => HOUR_MS + index * 1000));
    const oldest = (await readdir(directory)).sort().slice(0, 17);
    expect(await remaining(directory)).toBe(63);
    expect((await readdir(directory)).filter((name) => oldest.includes(name))).toEqual([]);
  });

  test("stay while somebody may still look for them, however many there are", async () => {
    expect(await remaining(await directoryWith(Array.from({ length: 100 }, () => 0)))).toBe(100);
  });

  test("of others stay: only our own kind is touched", async () => {
    const directory = await directoryWith([]);
    const foreign = ["notes.txt", "server.log", "2020-01-01T000000.000Z-server.log"];
    for (const name of foreign) {
      await writeFile(join(directory, name), "mine");
      await utimes(join(directory, name), new Date(0), new Date(0));
    }
    expect(await remaining(directory)).toBe(foreign.length);
  });
});
