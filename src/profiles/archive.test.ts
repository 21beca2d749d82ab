import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { pack as createPack, type Header } from "tar-stream";
import { describe, expect, test } from "vitest";
import { packProfile, unpackProfile } from "./archive.ts";
import { MOST_BYTES, MOST_FILES } from "./portable.ts";

type Entry = Partial<Header> & { name: string; content?: string };

async function archive(entries: readonly Entry[]): Promise<Buffer> {
  const pack = createPack();
  for (const { content = "", ...header } of entries) {
    if (header.type !== undefined && header.type !== "file") pack.entry(header);
    else pack.entry(header, content);
  }
  pack.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of pack as AsyncIterable<Buffer>) chunks.push(chunk);
  return promisify(gzip)(Buffer.concat(chunks));
}

const good: Entry = { name: "one/config.yaml", content: "terminal:\n" };

describe("an archive of a profile", () => {
  test("K2 gives back what was put in", async () => {
    const files = [
      { path: "config.yaml", content: Buffer.from("terminal:\n"), executable: false },
      { path: "skills/a/run.sh", content: Buffer.from("true\n"), executable: true },
      { path: "skills/empty", content: Buffer.alloc(0), executable: false },
    ];
    expect(await unpackProfile(await packProfile("one", files))).toEqual({ name: "one", files, leftOut: [] });
  });

  test("K2 leaves out what is not ours, and says so", async () => {
    const { files, leftOut } = await unpackProfile(
      await archive([
        { name: "one/", type: "directory" },
        good,
        ...[".env", "sandboxes/local/x", "audit.log", "active-profile", "skills", "skills/.env", "install-id"].map((name) => ({
          name: `one/${name}`,
        })),
      ]),
    );
    expect(files.map(({ path }) => path)).toEqual(["config.yaml"]);
    expect(leftOut.map(({ path }) => path)).toEqual([
      ".env",
      "sandboxes/local/x",
      "audit.log",
      "active-profile",
      "skills",
      "skills/.env",
      "install-id",
    ]);
  });

  const hostile: [string, Entry[]][] = [
    ["an absolute path", [good, { name: "/etc/passwd" }]],
    ["a way out", [good, { name: "one/../../x" }]],
    ["a way out in the skills", [good, { name: "one/skills/../../x" }]],
    ["a way out as a whole", [{ name: ".." }]],
    ["a dot", [{ name: "one/./config.yaml" }]],
    ["an empty part", [{ name: "one//config.yaml" }]],
    ["a backslash", [good, { name: "one/skills\\..\\x" }]],
    ["a control character", [good, { name: "one/skills/a\u001b[2J" }]],
    ["a link", [good, { name: "one/SOUL.md", type: "symlink", linkname: "/etc/passwd" }]],
    ["a hard link", [good, { name: "one/SOUL.md", type: "link", linkname: "/etc/passwd" }]],
    ["a device", [good, { name: "one/skills/x", type: "character-device" }]],
    ["a pipe", [good, { name: "one/skills/x", type: "fifo" }]],
    ["two folders", [good, { name: "two/config.yaml" }]],
    ["the same file twice", [good, good]],
    ["a file below a file", [{ name: "one/skills/a" }, { name: "one/skills/a/b" }]],
    ["a path without end", [good, { name: `one/skills/${"a/".repeat(600)}x` }]],
    ["nothing", []],
    ["nothing of ours", [{ name: "one/README" }]],
  ];
  test.each(hostile)("K2 with %s is refused as a whole", async (_, entries) => {
    await expect(unpackProfile(await archive(entries))).rejects.toMatchObject({
      code: "archive-refused",
      hint: expect.stringContaining("profile export"),
    });
  });

  test.each([["One Two"], ["..x"], ["-x"], ["x".repeat(65)]])("K1 with the folder %j has no valid name", async (name) => {
    await expect(unpackProfile(await archive([{ name: `${name}/config.yaml` }]))).rejects.toMatchObject({ code: "invalid-name" });
  });

  test("K2 with too many entries, too many bytes, or that unpacks to more than it says, is refused", async () => {
    const many = Array.from({ length: MOST_FILES + 1 }, (_, index) => ({ name: `one/skills/${index}` }));
    await expect(unpackProfile(await archive(many))).rejects.toMatchObject({ code: "too-large" });
    const bomb = await promisify(gzip)(Buffer.alloc(MOST_BYTES * 3));
    await expect(unpackProfile(bomb)).rejects.toMatchObject({ code: "too-large" });
    await expect(unpackProfile(await archive([{ name: "one/skills/x", content: "x".repeat(MOST_BYTES + 1) }]))).rejects.toMatchObject({
      code: "too-large",
    });
  });

  test("K2 that is cut short, or none at all, is refused", async () => {
    const whole = await archive([good, { name: "one/skills/x", content: "x".repeat(3000) }]);
    for (const bytes of [
      whole.subarray(0, whole.length - 12),
      Buffer.from("no archive"),
      Buffer.alloc(0),
      await promisify(gzip)("no archive".repeat(200)),
    ])
      await expect(unpackProfile(bytes)).rejects.toMatchObject({ code: "archive-refused" });
  });
});
