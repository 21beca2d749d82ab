import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync, gzipSync } from "node:zlib";
import { extract, type Header, pack } from "tar-stream";
import { describe, expect, test } from "vitest";
import { createTestCli, type TestCli } from "../../../test/helpers/cli.ts";
import { openStore, type Store } from "../../board/store.ts";

type Made = Partial<Header> & { readonly name: string; readonly content?: string };

interface Imported {
  board: string;
  tasks: number;
  attachments: number;
  leftOut: string[];
  ready: number;
  directories: string[];
}

async function archive(...entries: readonly Made[]): Promise<Buffer> {
  const made = pack();
  for (const { content = "", ...header } of entries) made.entry(header, content);
  made.finalize();
  return gzipSync(await buffer(made as AsyncIterable<Buffer>));
}

async function namesIn(file: string): Promise<string[]> {
  const names: string[] = [];
  const reading = extract();
  reading.end(gunzipSync(await readFile(file)));
  for await (const entry of reading) {
    names.push(entry.header.name);
    entry.resume();
  }
  return names.sort();
}

const storeOf = (cli: TestCli): Promise<Store> => openStore(join(cli.home, "kanban/board.db"));

/** A board with two linked tasks, a comment, an attachment and a log. */
async function fill(cli: TestCli): Promise<{ first: string; second: string }> {
  await cli.run(["kanban", "boards", "create", "site", "--name", "The site"]);
  await using store = await storeOf(cli);
  const { task: first } = await store.createTask({ title: "first \u202eevil", board: "site", assignee: "ada" }, { by: "tester" });
  const { task: second } = await store.createTask(
    { title: "second", board: "site", parents: [first.id], workspace: "dir:/srv/elsewhere" },
    { by: "tester" },
  );
  await store.comment(first.id, "well", { by: "tester" });
  const files = join(cli.home, "kanban/boards/site");
  const attachments = join(files, "attachments", first.id);
  await mkdir(attachments, { recursive: true });
  await mkdir(join(files, "logs"), { recursive: true });
  await writeFile(join(attachments, "notes.txt"), "the notes");
  await writeFile(join(files, "logs", `${first.id}.log`), "the log");
  const about = { name: "../../notes.txt", contentType: "text/plain", size: 9 };
  await store.addAttachment(first.id, { ...about, path: join(attachments, "notes.txt") }, { by: "tester" });
  return { first: first.id, second: second.id };
}

describe("K5 boards export and import", () => {
  test("make a new board with everything that was on the first", async () => {
    await using cli = await createTestCli();
    const { first, second } = await fill(cli);
    const file = join(cli.directory, "site.tar.gz");
    const exported = await cli.run(["kanban", "boards", "export", "site", "-o", file, "--include-logs"]);
    expect(exported).toMatchObject({ status: 0, stderr: `note: the board site is in ${file}: 2 tasks, 1 attachments\n` });
    expect(await namesIn(file)).toEqual(["attachments/", "attachments/1", "board.json", "logs/", `logs/${first}.log`]);

    const made = await cli.json<Imported>(["kanban", "boards", "import", file, "--as", "copy", "--switch"]);
    expect(made).toEqual({ board: "copy", tasks: 2, attachments: 1, leftOut: [], ready: 1, directories: ["/srv/elsewhere"] });
    expect(await cli.json(["kanban", "boards", "show"])).toMatchObject({ slug: "copy", name: "The site", counts: { ready: 1, todo: 1 } });
    await using store = await storeOf(cli);
    const copies = await store.listTasks({ board: "copy" });
    expect(copies.map(({ title }) => title)).toEqual(["first \u202eevil", "second"]);
    expect(copies.some(({ id }) => id === first || id === second)).toBe(false);
    const [one, two] = copies.map(({ id }) => id) as [string, string];
    expect((await store.parents(two)).map(({ id }) => id)).toEqual([one]);
    expect(await store.comments(one)).toMatchObject([{ body: "well", author: "tester" }]);
    const files = join(cli.home, "kanban/boards/copy");
    const [attachment] = await store.attachments(one);
    expect(attachment?.path).toBe(join(files, "attachments", one, "1-notes.txt"));
    expect(await readFile(attachment?.path ?? "", "utf8")).toBe("the notes");
    expect(await readFile(join(files, "logs", `${one}.log`), "utf8")).toBe("the log");
    // Nothing of the staging is left.
    expect((await readdir(join(cli.home, "kanban"))).filter((name) => name.startsWith("."))).toEqual([]);
  });

  test("K2 take no password of a database along that somebody has written down, and say so", async () => {
    await using cli = await createTestCli();
    const place = "postgres://me:hid/den@db/x?sslpassword=hidden";
    await cli.run(["kanban", "init"]);
    await using store = await storeOf(cli);
    const { task } = await store.createTask({ title: "move", body: `from ${place}\nto a file` }, { by: "tester" });
    await store.comment(task.id, "or host=db password=hidden", { by: "tester" });
    await store.complete(task.id, { summary: "password = ask()", metadata: { from: [place] } }, { by: "tester" });
    const file = join(cli.directory, "all.tar.gz");
    const { stderr } = await cli.run(["kanban", "boards", "export", "-o", file]);
    expect(stderr).toMatch(/warning: passwords of databases are \*\*\* in \d+ of its texts\n/);
    const exported = gunzipSync(await readFile(file)).toString();
    expect(exported).not.toMatch(/hid/);
    expect(exported).toContain("from postgres://me:***@db/x?sslpassword=***\\nto a file");
    // What only looks like it is as it was.
    expect(exported).toContain("password = ask()");
    expect((await store.getTask(task.id)).body).toContain(place);
  });

  test("files are meant from the caller's directory", async () => {
    await using cli = await createTestCli();
    await fill(cli);
    const cwd = join(cli.directory, "deep");
    await mkdir(cwd);
    await cli.run(["kanban", "boards", "export", "site", "-o", "site.tar.gz"], { cwd });
    expect(await cli.json<Imported>(["kanban", "boards", "import", "site.tar.gz", "--as", "copy"], { cwd })).toMatchObject({ tasks: 2 });
    expect(await cli.json(["kanban", "backup", "all.db"], { cwd })).toMatchObject({ file: join(cwd, "all.db") });
    expect(await readdir(cwd)).toEqual(["all.db", "site.tar.gz"]);
  });

  test("go without attachments and logs if asked, and never replace a file or a board by a slip", async () => {
    await using cli = await createTestCli();
    await fill(cli);
    const file = join(cli.directory, "site.tar.gz");
    await cli.json(["kanban", "--board", "site", "boards", "export", "-o", file, "--no-attachments"]);
    expect(await namesIn(file)).toEqual(["attachments/", "board.json", "logs/"]);
    expect(await cli.run(["kanban", "boards", "export", "site", "-o", file])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("is already there"),
    });
    expect(await cli.run(["kanban", "boards", "export", "site", "-o", file, "--force", "--no-attachments"])).toMatchObject({ status: 0 });
    expect(await cli.run(["kanban", "boards", "import", file])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/already a board site\nhint: .*--as SLUG/),
    });
    expect(await cli.json<Imported>(["kanban", "boards", "import", file, "--as", "bare"])).toMatchObject({
      attachments: 0,
      leftOut: ["../../notes.txt"],
    });
  });

  test("take no file along that is not the board's own", async () => {
    await using cli = await createTestCli();
    const { first } = await fill(cli);
    const secret = join(cli.directory, "secret");
    await writeFile(secret, "secret");
    const link = join(cli.home, "kanban/boards/site/attachments", first, "link");
    await symlink(secret, link);
    {
      await using store = await storeOf(cli);
      for (const path of [secret, link, join(cli.directory, "missing")])
        await store.addAttachment(first, { name: "x", contentType: "text/plain", size: 6, path }, { by: "tester" });
    }
    const file = join(cli.directory, "site.tar.gz");
    const { leftOut } = await cli.json<{ leftOut: object[] }>(["kanban", "boards", "export", "site", "-o", file]);
    expect(leftOut).toHaveLength(3);
    expect(await namesIn(file)).toEqual(["attachments/", "attachments/1", "board.json", "logs/"]);
  });
});

describe("K5 a hostile archive", () => {
  const board = { name: "board.json", content: JSON.stringify({ version: 1, board: { slug: "evil" } }) };

  test.for<[string, readonly Made[]]>([
    ["an absolute path", [{ name: "/tmp/holdfast-escape", content: "x" }]],
    ["a way up", [{ name: "../escape", content: "x" }]],
    ["a hidden way up", [{ name: "attachments/../../escape", content: "x" }]],
    ["a link", [board, { name: "attachments/1", type: "symlink", linkname: "../board.json" }]],
    ["a link that leads out", [board, { name: "attachments/1", type: "symlink", linkname: "/etc/passwd" }]],
    ["a hard link", [board, { name: "attachments/1", type: "link", linkname: "/etc/passwd" }]],
    ["a device", [board, { name: "attachments/1", type: "character-device" }]],
    ["a file that belongs nowhere", [board, { name: "more", content: "x" }]],
    ["an attachment of another name", [board, { name: "attachments/x", content: "x" }]],
    ["a directory in place of an attachment", [board, { name: "attachments/1/", type: "directory" }]],
    ["a log of no task", [board, { name: "logs/x.log", content: "x" }]],
    ["the same twice", [board, board]],
    ["no board", [{ name: "attachments/1", content: "x" }]],
    ["a board that is a directory", [{ name: "board.json/", type: "directory" }]],
    ["a board that is no JSON", [{ name: "board.json", content: "{" }]],
    ["a board that is nothing", [{ name: "board.json", content: "null" }]],
    ["a board without a name", [{ name: "board.json", content: '{"version":1,"board":{}}' }]],
  ])("with %s is refused", async ([, entries]) => {
    await using cli = await createTestCli();
    const file = join(cli.directory, "evil.tar.gz");
    await writeFile(file, await archive(...entries));
    const { status, stderr } = await cli.run(["kanban", "boards", "import", file, "--json"]);
    expect(status).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "archive-refused", hint: expect.stringContaining("kanban boards export") } });
    expect(await readdir(cli.directory)).toEqual(["evil.tar.gz"]);
    expect((await readdir(join(cli.home, "kanban"))).filter((name) => !name.startsWith("board.db"))).toEqual([]);
    expect(await cli.json(["kanban", "boards", "list"])).toHaveLength(1);
  });

  test.for<[string, object]>([
    ["a bad slug", { board: { slug: "../x" } }],
    ["a bad version", { version: 2 }],
    ["a bad id", { tasks: [{ id: "../../x" }] }],
    ["a cycle of nothing", { links: [{ parent: "t_00000001", child: "t_00000001" }] }],
    ["no lists", { tasks: null }],
  ])("whose board has %s makes no board", async ([, change]) => {
    await using cli = await createTestCli();
    await fill(cli);
    const file = join(cli.directory, "site.tar.gz");
    await cli.run(["kanban", "boards", "export", "site", "-o", file]);
    const reading = extract();
    reading.end(gunzipSync(await readFile(file)));
    let data: object = {};
    for await (const entry of reading) {
      if (entry.header.name === "board.json") data = JSON.parse((await buffer(entry as AsyncIterable<Buffer>)).toString());
      else entry.resume();
    }
    await writeFile(file, await archive({ name: "board.json", content: JSON.stringify({ ...data, ...change }) }));
    const args = "board" in change ? [] : ["--as", "copy"];
    expect(await cli.run(["kanban", "boards", "import", file, ...args])).toMatchObject({ status: 1 });
    expect(await cli.json(["kanban", "boards", "list"])).toHaveLength(2);
    expect(await readdir(join(cli.home, "kanban/boards"))).toEqual(["site"]);
  });

  test("that is no archive, a directory, or not there is refused", async () => {
    await using cli = await createTestCli();
    const file = join(cli.directory, "no.tar.gz");
    await writeFile(file, "not compressed");
    expect((await cli.run(["kanban", "boards", "import", file])).stderr).toContain("is not an archive of a board");
    expect((await cli.run(["kanban", "boards", "import", cli.directory])).stderr).toContain("not a regular file");
    expect((await cli.run(["kanban", "boards", "import", join(cli.directory, "none")])).stderr).toContain("there is no");
  });

  test("that is not compressed, or cut off, is refused by a process of its own, which leaves nothing", async () => {
    await using cli = await createTestCli();
    await fill(cli);
    const whole = join(cli.directory, "site.tar.gz");
    await cli.run(["kanban", "boards", "export", "site", "-o", whole]);
    const file = join(cli.directory, "no.tar.gz");
    for (const content of ["not compressed", (await readFile(whole)).subarray(0, -20)]) {
      await writeFile(file, content);
      const { status, stderr } = await cli.runProcess(["kanban", "boards", "import", file, "--as", "copy", "--json"]);
      expect({ status, error: JSON.parse(stderr) }).toMatchObject({ status: 1, error: { error: { code: "archive-refused" } } });
      expect((await readdir(join(cli.home, "kanban"))).filter((name) => name.startsWith("."))).toEqual([]);
    }
  });

  test("that was being imported when the process died leaves nothing after the next one", async () => {
    await using cli = await createTestCli();
    await fill(cli);
    const [dead, own] = [`.archive-${2 ** 30}-0123456789ab`, `.archive-${process.pid}-0123456789ab`];
    for (const name of [dead, own]) await mkdir(join(cli.home, "kanban", name, "attachments"), { recursive: true });
    await cli.json(["kanban", "boards", "export", "site", "-o", join(cli.directory, "site.tar.gz")]);
    expect((await readdir(join(cli.home, "kanban"))).filter((name) => name.startsWith("."))).toEqual([own]);
  });
});
