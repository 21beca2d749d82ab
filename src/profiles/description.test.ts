import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { readDescription, writeDescription } from "./description.ts";

test("K2 a description is kept in the home, private, and can be taken away", async () => {
  await using directory = await temporaryDirectory();
  const home = join(directory.path, "home");
  expect(readDescription(home)).toBeNull();
  expect(await writeDescription(home, "  reads what others wrote\n")).toBe("reads what others wrote");
  expect(readDescription(home)).toBe("reads what others wrote");
  expect((await stat(join(home, "profile.json"))).mode & 0o777).toBe(0o600);
  await writeDescription(home, null);
  expect(readDescription(home)).toBeNull();
});

test.each([[""], ["  "], ["a\nb"], ["a\u001b[31m"], ["x".repeat(501)]])(
  "K2 the description %j is refused, and the old one stays",
  async (text) => {
    await using directory = await temporaryDirectory();
    await writeDescription(directory.path, "old");
    await expect(writeDescription(directory.path, text)).rejects.toMatchObject({
      code: "invalid-input",
      hint: expect.stringContaining("one line"),
    });
    expect(readDescription(directory.path)).toBe("old");
  },
);

test("K2 a file that holds no description is an error that names it", async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, "profile.json");
  for (const text of [
    "",
    "[]",
    '{"version":2,"description":"x"}',
    '{"version":1,"description":"a\\nb"}',
    '{"version":1,"description":"a","more":1}',
  ]) {
    await writeFile(path, text);
    expect(() => readDescription(directory.path)).toThrow(path);
    expect(await readFile(path, "utf8")).toBe(text);
  }
});
