import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "./clock.ts";
import { withFileLock } from "./file-lock.ts";

const clock = systemClock;
let directory: string;
let path: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-lock-"));
  path = join(directory, "file");
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await rm(directory, { recursive: true, force: true });
});

describe("withFileLock", () => {
  test("in one process the holders follow one another", async () => {
    let inside = 0;
    let most = 0;
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        withFileLock(
          path,
          async () => {
            most = Math.max(most, ++inside);
            await new Promise((resolve) => setImmediate(resolve));
            inside--;
            return index;
          },
          { clock },
        ),
      ),
    );
    expect(most).toBe(1);
    expect(results).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("between processes no step is lost", async () => {
    await writeFile(path, "0");
    const step = `await withFileLock(path, async () => writeFile(path, String(Number(await readFile(path, "utf8")) + 1)), { clock: systemClock });`;
    const script = `import { readFile, writeFile } from "node:fs/promises"; for (let i = 0; i < 20; i++) ${step}`;
    const codes = await Promise.all([1, 2].map(async () => (await once(start(script), "exit"))[0]));
    expect(codes).toEqual([0, 0]);
    expect(await readFile(path, "utf8")).toBe("40");
  });

  test("a holder that is killed holds nothing", async () => {
    const child = start(
      `await withFileLock(path, () => { process.stdout.write("held"); return new Promise((r) => setTimeout(r, 1e6)); }, { clock: systemClock });`,
    );
    await once(child.stdout as NodeJS.ReadableStream, "data");
    await expect(withFileLock(path, async () => "never", { clock, timeoutMs: 50 })).rejects.toMatchObject({
      code: "locked",
      retryable: true,
      message: `another process has held the lock on ${path} for 0.05 s`,
    });
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await withFileLock(path, async () => "mine", { clock })).toBe("mine");
  });

  test("waiting does not stop the process", async () => {
    const held = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const order: string[] = [];
    const holder = withFileLock(
      path,
      async () => {
        held.resolve();
        await end.promise;
        order.push("first");
      },
      { clock },
    );
    await held.promise;
    const waiter = withFileLock(path, async () => order.push("second"), { clock });
    // Only a process that still turns its event loop gets here and can let the holder go.
    setImmediate(() => setImmediate(end.resolve));
    await Promise.all([holder, waiter]);
    expect(order).toEqual(["first", "second"]);
  });

  test("a failing action passes its error on and releases the lock", async () => {
    await expect(withFileLock(path, async () => Promise.reject(new Error("inside")), { clock })).rejects.toThrow("inside");
    expect(await withFileLock(path, async () => "next", { clock })).toBe("next");
  });

  test("leaves the file itself alone; only the owner may read the lock file", async () => {
    await withFileLock(path, async () => {}, { clock });
    await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
    expect((await stat(`${path}.lock`)).mode & 0o777).toBe(0o600);
  });

  test("a directory that is not there", async () => {
    await expect(withFileLock(join(directory, "none", "file"), async () => {}, { clock })).rejects.toMatchObject({
      code: "state-write-failed",
    });
  });

  test("a lock file that is none", async () => {
    await writeFile(`${path}.lock`, "this is not a database, and it is longer than the header of one: ".repeat(10));
    await expect(withFileLock(path, async () => {}, { clock })).rejects.toMatchObject({ code: "state-write-failed" });
  });
});

function start(script: string): ChildProcess {
  const load = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
  const head = `import { withFileLock } from ${load("./file-lock.ts")}; import { systemClock } from ${load("./clock.ts")}; const path = ${JSON.stringify(path)};`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", `${head}\n${script}`], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  return child;
}
