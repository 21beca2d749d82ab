import { expect, test } from "vitest";
import { createUserLookup, idsIn, userOf } from "./container-user.ts";
import type { EngineResult } from "./engine.ts";

const image = { id: "sha256:1", user: "app", home: null, platform: "linux/amd64" };

test("a container's user is the image's, unless ours or at last the arguments say otherwise", () => {
  const own = (...extraArgs: string[]) => userOf(image, { hostUser: { uid: 1000, gid: 100 }, extraArgs });
  expect(userOf(image, { hostUser: null, extraArgs: [] })).toBe("app");
  expect(userOf({ ...image, user: null }, { hostUser: null, extraArgs: ["--user-data", "x"] })).toBeNull();
  expect(own()).toBe("1000:100");
  expect([own("--user", "a"), own("--user=b"), own("-u", "c"), own("-ud"), own("-itu=e"), own("-u", "f", "--user=7:8")]).toEqual([
    ..."abcde",
    "7:8",
  ]);
});

test("numbers need nobody's help, and a name is looked up once", async () => {
  const asked: string[][] = [];
  const answers: Partial<EngineResult>[] = [
    { code: 0, stdout: "uid=1001(app) gid=50(staff) groups=50(staff)\n" },
    { code: 127, stdout: "" },
  ];
  const run = async (args: readonly string[]) => {
    asked.push([...args]);
    return { code: 0, stdout: "", stderr: "no id\n", ...answers.shift() };
  };
  const lookUp = createUserLookup(async () => ({ program: "docker", run }) as never);
  expect([idsIn(null), idsIn("5"), idsIn("5:6"), idsIn("five"), idsIn("5:staff")]).toEqual([
    { uid: 0, gid: 0 },
    { uid: 5, gid: 5 },
    { uid: 5, gid: 6 },
    null,
    null,
  ]);
  expect(await lookUp("7:8", image, {})).toEqual({ uid: 7, gid: 8 });
  expect(asked).toEqual([]);
  for (let round = 0; round < 2; round++) expect(await lookUp("app", image, {})).toEqual({ uid: 1001, gid: 50 });
  expect(asked).toHaveLength(1);
  await expect(lookUp("other", image, {})).rejects.toMatchObject({
    code: "sandbox-create-failed",
    message: expect.stringContaining("its user other"),
    hint: expect.stringContaining("--user UID:GID"),
  });
});
