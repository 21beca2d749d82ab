import { mkdir, mkdtemp, readdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { onHost } from "../../src/app/worker-bridge/host-words.ts";
import { daemonSandbox } from "../helpers/daemon-sandbox.ts";

const MIB = 1024 * 1024;

test("K29 one request of a worker in a sandbox takes 20 files and 100 MiB of the host at most, and each file once", async () => {
  await using place = await daemonSandbox({ build: null });
  const { sandbox } = await place.open();
  const cwd = await mkdtemp(join(place.scratch, "cwd-"));
  const complete = async (...paths: string[]) => {
    const copies = await mkdtemp(join(place.scratch, "copies-"));
    const words = paths.map((value) => ({ option: "artifact", kind: value === "-" ? "file-or-input" : "file", value }) as const);
    const options = { files: sandbox.files, cwd, workspace: { inside: cwd, outside: cwd }, copies };
    return { done: onHost({ verb: "complete", words }, options), left: () => readdir(copies) };
  };
  const names = Array.from({ length: 21 }, (_, index) => `small-${index}`);
  for (const name of names) await writeFile(join(cwd, name), name);
  expect((await (await complete(...names.slice(1), "-")).done).words.at(-1)?.value).toBe("-");
  const many = await complete(...names);
  await expect(many.done).rejects.toMatchObject({ code: "too-large" });
  expect(await many.left()).toEqual([]);

  await mkdir(join(cwd, "deep"));
  const twice = await complete("small-1", "small-2", "deep/../small-1");
  await expect(twice.done).rejects.toMatchObject({ code: "invalid-input", message: "deep/../small-1 is named twice" });
  expect(await twice.left()).toEqual([]);

  const large = ["a", "b", "c", "d", "e"];
  for (const name of large) {
    await writeFile(join(cwd, name), "");
    await truncate(join(cwd, name), name === "e" ? 1 : 25 * MIB);
  }
  const all = await complete(...large);
  await expect(all.done).rejects.toMatchObject({ code: "too-large", message: expect.stringContaining("together") });
  expect(await all.left()).toHaveLength(4);
}, 60_000);
