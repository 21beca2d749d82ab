import { describe, expect, test } from "vitest";
import { imageType } from "./image-type.ts";
import { imageReferences } from "./references.ts";

const texts = (body: string) => imageReferences(body).map(({ text }) => text);

describe("K31 images that a body refers to", () => {
  test.each([
    ["![a](shot.png)", ["shot.png"]],
    ["![](a/b/shot.JPEG) and ![b](./c.webp)", ["a/b/shot.JPEG", "./c.webp"]],
    ['![a](shot.png "A title") ![b]( <with blank.gif> ) ![c](my file.jpg)', ["shot.png", "with blank.gif", "my file.jpg"]],
    ["![a](Screenshot (1).png)", ["Screenshot (1).png"]],
    ["see /abs/one.png, `two.png`; (three.gif) and four.webp.", ["/abs/one.png", "two.png", "three.gif", "four.webp"]],
    ["[a link](linked.png) **bold.png** five.jpg!", ["linked.png", "bold.png", "five.jpg"]],
    ["~/.ssh/key.png ../up.png", ["~/.ssh/key.png", "../up.png"]],
    ["twice.png ![x](twice.png)", ["twice.png"]],
    ["later.png ![x](first.png) last.png", ["later.png", "first.png", "last.png"]],
    ["no image: a.txt .png a.png.txt png ![x](notes.md) ![](", []],
    ["file:///etc/x.png data:image/png;base64,x.png javascript:x.png", ["x.png"]],
    ["new\0line.png", []],
  ])("%j", (body, expected) => expect(texts(body)).toEqual(expected));

  test("URLs are told from paths, with and without a query", () => {
    expect(imageReferences("![a](https://example.com/a.png?x=1#y) http://example.com/b.jpg https://example.com/page")).toEqual([
      { kind: "url", text: "https://example.com/a.png?x=1#y" },
      { kind: "url", text: "http://example.com/b.jpg" },
    ]);
  });

  test("a text without end names only so many", () => {
    expect(imageReferences(Array.from({ length: 5000 }, (_, index) => `${index}.png`).join(" "))).toHaveLength(100);
  });

  test.each(["![", "![](", "![](a(b)", "![a](<", "(", ".png!", '![](x) "', "a.png:"])("a mebibyte of %j is gone through", (unit) => {
    expect(imageReferences(unit.repeat(2 ** 20 / unit.length)).length).toBeLessThanOrEqual(100);
  });
});

describe("K31 images are known by their first bytes", () => {
  test.each([
    ["\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"],
    ["\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"],
    ["GIF87a", "image/gif"],
    ["GIF89a......", "image/gif"],
    ["RIFF\n\0\0\0WEBPVP8 ", "image/webp"],
    ["RIFF\n\0\0\0WAVEfmt ", null],
    ["\x89PNG", null],
    ["root:x:0:0:root", null],
    ["<svg xmlns=", null],
    ["", null],
  ])("%j", (text, type) => expect(imageType(Buffer.from(text, "latin1"))).toBe(type));
});
