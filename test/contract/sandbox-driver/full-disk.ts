/** @module Cases: a full disk under the state directory. For drivers whose state is in the harness's directory. */
import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import type { Cases, Kit } from "./kit.ts";

const run = promisify(execFile);

export const fullDiskCases: Cases = {
  "a full disk: nothing hangs, errors are typed, and all works again when there is space": async (kit) => {
    const directory = await smallDisk(kit);
    const apart = await kit.apart(directory);
    const ref = await apart.create();
    const connection = await apart.connect(ref);
    const here = await apart.shell({ on: { ref, connection }, startDirectory: "/" });
    await here.run("export A=1");

    await fill(directory);
    const refusal = { code: expect.stringMatching(/^(state-write-failed|session-failed|sandbox-create-failed)$/), retryable: true };
    // A backend that has nothing to write may well succeed.
    const other = await apart.create(apart.owner({ task: "other" })).catch((error: unknown) => error);
    const made = await apart.driver.list(apart.owner({ task: "other" }));
    if (made.length === 0) expect(other).toMatchObject({ code: "sandbox-create-failed" });
    for (const each of made) await apart.driver.destroy(each);
    // A shell whose state is saved by a daemon needs no space to begin.
    const call = here.run("echo ran >&2; export A=2; exit 3");
    if (connection.daemon) expect((await call).warnings).toEqual([expect.stringMatching(/not saved: .*No space left/)]);
    else await expect(call).rejects.toMatchObject(refusal);
    await expect(here.run("true", { session: "new" })).rejects.toMatchObject(refusal);
    await expect(here.run(`# ${"x".repeat(200_000)}`)).rejects.toMatchObject(refusal);
    expect(await apart.driver.list(apart.owner())).toEqual([ref]);

    await run("rm", ["-f", join(directory, "filler")]);
    expect(await here.text("echo $A")).toBe("1");
    expect(await here.text("echo fresh", { session: "new" })).toBe("fresh");
    await apart.driver.destroy(await apart.create(apart.owner({ task: "other" })));
  },

  "a command that fills the disk ran, keeps the old state, and says so": async (kit) => {
    const directory = await smallDisk(kit);
    const apart = await kit.apart(directory);
    const ref = await apart.create();
    const here = await apart.shell({ on: { ref, connection: await apart.connect(ref) }, startDirectory: "/" });
    await here.run("export A=1");
    const filler = join(directory, "filler");
    const result = await here.run(`cat /dev/zero >'${filler}' 2>/dev/null; export A=2; cd /etc; echo ran; exit 5`);
    expect(result).toMatchObject({ exitCode: 5, stdout: "ran\n", cwd: "/etc" });
    expect(result.warnings).toEqual([expect.stringMatching(/not saved: .*No space left/)]);
    await run("rm", ["-f", filler]);
    expect(await here.text("echo $A; pwd")).toBe("1\n/");
  },

  "output that fills the disk is said, and the command runs to its end": async (kit) => {
    const directory = await smallDisk(kit);
    const apart = await kit.apart(directory);
    const ref = await apart.create();
    const here = await apart.shell({ on: { ref, connection: await apart.connect(ref) }, startDirectory: "/", keepChars: 1000 });
    await here.run("export A=1");
    const result = await here.run("seq 1 400000; echo end >&2; export A=2; exit 5");
    const whole = Array.from({ length: 400_000 }, (_, i) => `${i + 1}\n`).join("");
    expect(result).toMatchObject({ exitCode: 5, stderr: "end\n", outputBytes: whole.length + 4, truncated: true });
    expect(result.output).toContain(`its beginning is in ${result.outputFile}: it could not be written to the end`);
    expect(result.warnings).toEqual([expect.stringContaining("not saved"), expect.stringContaining("overflow file is not whole")]);
    const kept = await readFile(result.outputFile ?? "", "utf8");
    expect(whole.startsWith(kept.replace(/end\n$/, ""))).toBe(true);
    await rm(result.outputFile ?? "");
    expect(await here.text("echo $A")).toBe("1");
  },
};

/** A file system of one megabyte, on which the sandbox's state will be. */
async function smallDisk(kit: Kit): Promise<string> {
  const directory = join(kit.directory, `disk-${Math.random()}`);
  await run("mkdir", [directory]);
  await run("mount", ["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", directory]);
  kit.onEnd(async () => {
    await run("umount", ["--lazy", directory]);
  });
  return directory;
}

async function fill(directory: string): Promise<void> {
  await writeFile(join(directory, "filler"), Buffer.alloc(2_000_000)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOSPC") throw error;
  });
}
