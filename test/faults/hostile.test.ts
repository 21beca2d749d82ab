import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, realpath, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { HoldfastError } from "../../src/base/errors.ts";
import { boardFiles } from "../../src/board/files.ts";
import { openStore, type Store } from "../../src/board/store.ts";
import type { Task } from "../../src/board/task.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";
import { openFaultBench } from "./bench.ts";
import { describeDatabases } from "./describe-databases.ts";

const ME = { by: "me" };
const LIMIT = { timeout: 60_000, interval: 50 };

const NASTY: Readonly<Record<string, string>> = {
  nul: "a\0b",
  "half a character": "a\ud800b",
  "another half": "\udc00",
  ansi: "\u001b[2J\u001b]0;title\u0007red",
  newline: "one\ntwo\r\nthree",
  "line separator": "one\u2028two",
  "right to left": "safe\u202egpj.exe",
  "zero width": "a\u200b\ufeffb",
  sql: "'; drop table tasks; --",
  "more sql": `" or 1=1; delete from runs where ''='`,
  flag: "--force",
  "another flag": "-rf",
  substitution: "$(touch pwned)",
  backticks: "`touch pwned`",
  chain: "; touch pwned #",
  pipe: "| tee pwned",
  way: "../../etc/passwd",
  "absolute way": "/etc/passwd",
  "dots and slashes": "....//....//",
  format: "%s%s%n{{constructor}}",
  prototype: "__proto__",
  emoji: "👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
  combining: `Z${"\u0301".repeat(200)}`,
  long: "x".repeat(1024 * 1024),
  longer: "y".repeat(1024 * 1024 + 1),
  blank: "   ",
  empty: "",
};

const TEXTS = ["title", "body", "tenant", "branch", "model", "idempotencyKey"] as const;

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => "none",
    (each: unknown) => each,
  );
  return HoldfastError.isInstance(error) ? error.code : String(error);
}

async function made(store: Store, fields: object): Promise<Task | string> {
  try {
    return (await store.createTask({ title: "hostile", ...fields }, ME)).task;
  } catch (error) {
    if (!HoldfastError.isInstance(error)) throw error;
    // Whoever prints it must not be harmed by it.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what harms.
    expect(error.message).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/);
    expect(error.message.length).toBeLessThan(2000);
    return error.code;
  }
}

describeDatabases((database) => {
  test("K6 K25 a hostile text is kept as it is or refused with a reason, in every field", { timeout: 60_000 }, async () => {
    await using directory = await temporaryDirectory();
    await using store = await openStore((await database()) ?? join(directory.path, "board.db"));
    let kept = 0;
    for (const [name, text] of Object.entries(NASTY)) {
      for (const field of TEXTS) {
        const answer = await made(store, { [field]: text });
        if (typeof answer === "string") {
          expect([name, field, answer]).toEqual([name, field, "invalid-input"]);
          continue;
        }
        kept += 1;
        const shown = await store.getTask(answer.id);
        expect(shown[field as "title"] === text, `${name} as ${field}`).toBe(true);
        await store.comment(answer.id, name, ME);
      }
    }
    expect(kept).toBeGreaterThan(60);
    expect(await store.listTasks()).toHaveLength(kept);
    expect(await store.check()).toEqual([]);
  });

  test("K1 K5 K6 a hostile name of a board, a profile or a workspace is refused with a reason", async () => {
    await using directory = await temporaryDirectory();
    await using store = await openStore((await database()) ?? join(directory.path, "board.db"));
    for (const [name, text] of Object.entries(NASTY)) {
      const answers = {
        slug: await codeOf(store.createBoard(text, ME)),
        board: await made(store, { board: text }),
        assignee: await made(store, { assignee: text }),
        workspace: await made(store, { workspace: text }),
        directory: await made(store, { workspace: `dir:/tmp/../${text}` }),
        parent: await made(store, { parents: [text] }),
        show: await codeOf(store.getTask(text)),
      };
      for (const [field, answer] of Object.entries(answers))
        expect([name, field, answer]).toEqual([
          name,
          field,
          expect.stringMatching(/^(invalid-input|invalid-name|board-not-found|task-not-found)$/),
        ]);
    }
    expect((await store.listBoards()).map(({ slug }) => slug)).toEqual(["default"]);
    expect(await store.listTasks()).toEqual([]);
  });
});

test("K27 K30 a worker of a hostile task begins in its own directory, and nothing of the task is executed", {
  timeout: 120_000,
}, async () => {
  const worker = ["sh", "-c", 'pwd >>"$FAULTS_DIR/places"; exec sleep 1000'];
  await using bench = await openFaultBench({ workers: { coder: worker } });
  const { store, home } = bench;
  await mkdir(join(home, "faults"));
  const tasks: string[] = [];
  for (const text of Object.values(NASTY)) {
    const fields = {
      assignee: "coder",
      body: `x${text}`.replaceAll("\0", "").toWellFormed().slice(0, 1000),
      title: text,
      tenant: text,
    };
    const named = await made(store, { ...fields, branch: text });
    // Most of it is no branch for git.
    const answer = typeof named === "string" ? await made(store, fields) : named;
    if (typeof answer !== "string") tasks.push(answer.id);
  }
  expect(tasks.length).toBeGreaterThan(10);
  // The place of a workspace is taken by a link out of the managed root.
  const { id: linked } = (await store.createTask({ title: "linked", assignee: "nobody" }, ME)).task;
  const files = boardFiles(home);
  const outside = join(home, "outside");
  await mkdir(outside);
  await mkdir(files.workspaces("default"), { recursive: true });
  await symlink(outside, files.workspace("default", linked));
  await store.editTask(linked, { maxRetries: 1 }, ME);
  await store.assign(linked, "coder", ME);
  bench.startDispatcher();
  const places = await vi.waitFor(async () => {
    const lines = (await readFile(join(home, "faults", "places"), "utf8")).trim().split("\n");
    expect(lines).toHaveLength(tasks.length);
    return lines;
  }, LIMIT);
  const root = await realpath(files.workspaces("default"));
  expect(places.toSorted()).toEqual(tasks.map((id) => join(root, id)).toSorted());
  await vi.waitFor(async () => expect(await store.getTask(linked)).toMatchObject({ status: "blocked" }), LIMIT);
  expect(await readdir(outside)).toEqual([]);
  const all = await readdir(home, { recursive: true });
  expect(all.filter((path) => path.includes("pwned"))).toEqual([]);
  expect(existsSync("pwned")).toBe(false);
  expect((await readdir(files.logs("default"))).toSorted()).toEqual(tasks.map((id) => `${id}.log`).toSorted());
});
