import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../test/helpers/temporary-directory.ts";
import { boardFiles } from "../../board/files.ts";
import type { Files } from "../../sandbox/files.ts";
import { attachmentsInside } from "./attachments-inside.ts";

const lines = (paths: readonly string[]) => paths.join("\n");
const json = (paths: readonly string[]) => JSON.stringify({ paths });
const answer = (paths: readonly string[]) => JSON.stringify({ text: json(paths) });

test.each([
  ["a text", lines],
  ["JSON", json],
  ["the answer of a tool", answer],
])("K29 K30 %s names copies in the sandbox, whatever the files are called", async (_, write) => {
  await using place = await temporaryDirectory();
  const outside = boardFiles(place.path).attachments("default", "t_0000000a");
  await mkdir(outside, { recursive: true });
  const names = ["a", 'a"b', "ü c"];
  for (const name of names) await writeFile(join(outside, name), name);
  const copies = new Map<string, string>();
  const files = { write: async (path: string, content: Uint8Array) => void copies.set(path, Buffer.from(content).toString()) };
  const { translate } = attachmentsInside({
    board: "default",
    boardFiles: boardFiles(place.path),
    files: files as unknown as Files,
    directory: "/in",
  });
  const inside = names.map((name) => `/in/t_0000000a/${name}`);
  expect(await translate(write(names.map((name) => join(outside, name))), ["t_0000000a"])).toBe(write(inside));
  expect(copies).toEqual(new Map(names.map((name) => [`/in/t_0000000a/${name}`, name])));
});
