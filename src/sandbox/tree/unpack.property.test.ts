import { mkdir, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import fc from "fast-check";
import { pack as createPack } from "tar-stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { soakCount } from "../../../test/helpers/soak.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../../../test/helpers/temporary-directory.ts";
import { HoldfastError, systemCode } from "../../base/errors.ts";
import { unpackArchive } from "./unpack.ts";

let scratch: TemporaryDirectory;
beforeAll(async () => {
  scratch = await temporaryDirectory();
});
afterAll(() => scratch[Symbol.asyncDispose]());

// So few names that entries meet each other, and links lead to what other entries make.
const part = fc.constantFrom("a", "b", "c", "..", ".");
const inside = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 });
const anywhere = fc.array(part, { minLength: 1, maxLength: 4 });
const name = fc.oneof({ weight: 9, arbitrary: inside }, { weight: 1, arbitrary: anywhere }).map((parts) => parts.join("/"));
const entry = fc.oneof(
  fc.record({ type: fc.constant("file" as const), name }),
  fc.record({ type: fc.constant("directory" as const), name }),
  fc.record({ type: fc.constant("symlink" as const), name, linkname: anywhere.map((parts) => parts.join("/")) }),
  fc.record({ type: fc.constant("link" as const), name, linkname: name }),
);

/** Every name at every height above the target is there, so that whatever leads out leads somewhere. */
async function makeSurroundings(root: string): Promise<string> {
  const target = join(root, "x/y/target");
  await mkdir(target, { recursive: true });
  for (const height of [root, join(root, "x"), join(root, "x/y")]) {
    for (const path of ["a", "b", "c"]) {
      await mkdir(join(height, path), { recursive: true });
      await writeFile(join(height, path, "mine"), "untouched");
    }
  }
  return target;
}

async function expectUntouched(root: string): Promise<void> {
  for (const height of [root, join(root, "x"), join(root, "x/y")]) {
    const others = { [root]: ["x"], [join(root, "x")]: ["y"], [join(root, "x/y")]: ["target"] }[height] ?? [];
    expect((await readdir(height)).sort()).toEqual(["a", "b", "c", ...others]);
    for (const path of ["a", "b", "c"]) {
      expect(await readdir(join(height, path))).toEqual(["mine"]);
      expect(await readFile(join(height, path, "mine"), "utf8")).toBe("untouched");
    }
  }
}

/** Of all entries, and of all that links among them lead to. */
async function expectInside(target: string, directory = target): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    expect(entry.name).not.toMatch(/^\.holdfast-/);
    if (entry.isDirectory()) await expectInside(target, path);
    if (!entry.isSymbolicLink()) continue;
    const to = await realpath(path).catch((error: unknown) => {
      // It leads to nothing, or to itself.
      expect(["ENOENT", "ELOOP", "ENOTDIR"]).toContain(systemCode(error));
      return target;
    });
    expect(to === target || to.startsWith(target + sep), `${path} leads to ${to}`).toBe(true);
  }
}

test("whatever an archive holds, nothing outside is touched and no link leads out", async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(entry, { maxLength: 8 }), { minLength: 1, maxLength: 2 }), async (archives) => {
      const root = join(scratch.path, String(run++));
      const target = await makeSurroundings(root);
      // A second archive meets what the first has left.
      for (const entries of archives) {
        const pack = createPack();
        for (const { type, name, ...rest } of entries) pack.entry({ type, name, ...rest }, type === "file" ? "evil" : "");
        pack.finalize();
        const bytes = await buffer(pack as AsyncIterable<Buffer>);
        await unpackArchive(Readable.from([bytes], { objectMode: false }), target, {}).catch((error: unknown) => {
          expect(HoldfastError.isInstance(error), String(error)).toBe(true);
        });
      }
      await expectUntouched(root);
      await expectInside(await realpath(target));
      await rm(root, { recursive: true });
    }),
    { numRuns: soakCount("hostile archives", { check: 60, soak: 300 }) },
  );
}, 120_000);
