import { execFileSync } from "node:child_process";
import { mkdir, realpath, symlink, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { forEachTest } from "../../../test/helpers/suite.ts";
import { temporaryDirectory } from "../../../test/helpers/temporary-directory.ts";
import { boardFiles } from "../../board/files.ts";
import { imagesOf } from "./images-of.ts";

const PNG = "\x89PNG\r\n\x1a\n";

describe("K31 the images of a task", () => {
  const scratch = forEachTest(async () => {
    const directory = await temporaryDirectory();
    return { ...directory, path: await realpath(directory.path) };
  });
  const files = () => boardFiles(join(scratch.path, "home"));
  const workspace = () => join(scratch.path, "work");
  const attached = (name: string) => join(files().attachments("default", "t_1"), name);
  const put = async (path: string, text = PNG) => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, "latin1");
  };
  const find = (body: string, attachments: { name: string; path: string }[] = []) =>
    imagesOf({ id: "t_1", board: "default", body }, { files: files(), attachments, workspace: workspace() });

  test("K31 are found in the workspace and among the attachments, and URLs are only listed", async () => {
    await put(join(workspace(), "sub/a.png"));
    await put(join(workspace(), "with blank.jpg"), "\xff\xd8\xff\xe0");
    await put(join(workspace(), "50%.png"));
    await put(attached("shot-2.gif"), "GIF89a");
    await put(attached("b.webp"), "RIFF\n\0\0\0WEBPVP8 ");
    const body = `![a](sub/a.png) ${join(workspace(), "sub/a.png")} ![b](with%20blank.jpg) 50%.png shot.gif ${attached("b.webp")} https://example.com/c.png`;
    expect(await find(body, [{ name: "shot.gif", path: attached("shot-2.gif") }])).toEqual({
      images: [
        { path: join(workspace(), "sub/a.png"), contentType: "image/png", bytes: 8 },
        { path: join(workspace(), "with blank.jpg"), contentType: "image/jpeg", bytes: 4 },
        { path: join(workspace(), "50%.png"), contentType: "image/png", bytes: 8 },
        { path: attached("shot-2.gif"), contentType: "image/gif", bytes: 6 },
        { path: attached("b.webp"), contentType: "image/webp", bytes: 16 },
      ],
      urls: ["https://example.com/c.png"],
      skipped: [],
    });
  });

  test("K31 are never files from elsewhere on this machine, however they are named", async () => {
    await put(join(scratch.path, "secret.png"));
    await put(join(scratch.path, "work-too/near.png"));
    await put(files().attachments("default", "t_2").concat("/other.png"));
    await put(join(workspace(), "file.txt"));
    await symlink("../secret.png", join(workspace(), "link.png"));
    await symlink("..", join(workspace(), "up"));
    const outside = [
      "link.png",
      "up/secret.png",
      "../secret.png",
      "%2e%2e/secret.png",
      join(scratch.path, "secret.png"),
      join(scratch.path, "work-too/near.png"),
      files().attachments("default", "t_2").concat("/other.png"),
      "given.png",
    ];
    const { images, skipped } = await find(outside.join("\n"), [{ name: "given.png", path: join(scratch.path, "secret.png") }]);
    expect(images).toEqual([]);
    expect(skipped.map(({ reference }) => reference)).toEqual(outside);
    for (const { reference, reason } of skipped) expect(reason).toBe(reference === "given.png" ? "it does not exist" : "it lies outside");
    expect((await find("/etc/passwd.png ~/.ssh/id.png")).images).toEqual([]);
  });

  test("K31 must be images and regular files", async () => {
    await put(join(workspace(), "text.png"), "root:x:0:0");
    await put(join(workspace(), "empty.png"), "");
    await mkdir(join(workspace(), "folder.png"));
    execFileSync("mkfifo", [join(workspace(), "pipe.png")]);
    expect(await find("text.png empty.png folder.png pipe.png none.png")).toEqual({
      images: [],
      urls: [],
      skipped: [
        { reference: "text.png", reason: "it is not an image" },
        { reference: "empty.png", reason: "it is not an image" },
        { reference: "folder.png", reason: "it is a directory" },
        { reference: "pipe.png", reason: "it is not a regular file" },
        { reference: "none.png", reason: "it does not exist" },
      ],
    });
  });

  test("K31 are at most ten, of 20 MB together, and what is left out is said", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `${index}.png`);
    for (const name of names) await put(join(workspace(), name));
    const many = await find(names.join(" "));
    expect(many.images).toHaveLength(10);
    expect(many.skipped.map(({ reference }) => reference)).toEqual(["10.png", "11.png"]);
    await truncate(join(workspace(), "0.png"), 19_999_993);
    const large = await find("1.png 0.png 2.png");
    expect(large.images.map(({ bytes }) => bytes)).toEqual([8, 8]);
    expect(large.skipped).toEqual([{ reference: "0.png", reason: expect.stringContaining("20000000 bytes") }]);
  });

  test("K31 can be attachments alone, before there is a workspace", async () => {
    await put(attached("a.png"));
    const found = await imagesOf(
      { id: "t_1", board: "default", body: "a.png b.png" },
      { files: files(), attachments: [{ name: "a.png", path: attached("a.png") }], workspace: null },
    );
    expect(found.images).toHaveLength(1);
    expect(found.skipped).toEqual([{ reference: "b.png", reason: "it is neither attached nor in the workspace" }]);
  });
});
