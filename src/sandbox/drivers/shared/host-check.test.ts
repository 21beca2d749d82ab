import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../../test/helpers/temporary-directory.ts";
import { checkHost } from "./host-check.ts";

async function withBash(script: string) {
  await using scratch = await temporaryDirectory();
  const path = join(scratch.path, "bash");
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  // Awaited here: the directory goes when this function ends.
  return await checkHost({ PATH: scratch.path });
}

test("a host with bash is ready, and its version is told", async () => {
  expect(await checkHost({ PATH: process.env.PATH ?? "" })).toEqual({ status: "ready", detail: expect.stringMatching(/^bash \d+\.\d+/) });
});

test("another platform is not applicable", async () => {
  expect(await checkHost({}, "darwin")).toEqual({ status: "not-applicable", reason: expect.stringContaining("darwin") });
});

test("a host without bash, or with one that fails, is broken, with the reason and a fix", async () => {
  expect(await checkHost({ PATH: "/not/there" })).toMatchObject({
    status: "broken",
    reason: expect.stringContaining("ENOENT"),
    fix: expect.any(String),
  });
  expect(await checkHost({})).toMatchObject({ status: expect.stringMatching(/ready|broken/) });
  expect(await withBash("exit 3")).toMatchObject({ status: "broken" });
});

test("a bash that is too old is broken", async () => {
  expect(await withBash("echo '4.3.48(1)-release'")).toMatchObject({ status: "broken", reason: expect.stringContaining("too old") });
  expect(await withBash("echo '3.2.57(1)-release'")).toMatchObject({ status: "broken" });
  expect(await withBash("echo '4.4.0(1)-release'")).toMatchObject({ status: "ready" });
  expect(await withBash("echo 'no version'")).toMatchObject({ status: "broken" });
});

test("start-up files of the user are not read", async () => {
  expect(await withBash('case " $* " in *" --norc "*) echo "5.2.0(1)-release" ;; *) echo chatter ;; esac')).toMatchObject({
    status: "ready",
  });
});
