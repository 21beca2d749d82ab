import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { failureOf } from "../../test/helpers/failure-of.ts";
import { createTestApp } from "../../test/helpers/test-app.ts";

test("K5 a board is named as the boards know it, and what could lead elsewhere is no name", async () => {
  await using given = await createTestApp({ env: { HOLDFAST_KANBAN_BOARD: " Site " } });
  const kanban = await given.app.kanban();
  expect([kanban.board(), kanban.board(" One ")]).toEqual(["site", "one"]);
  for (const slug of ["../x", "", "a/b", "x\0"])
    expect(() => kanban.board(slug)).toThrow(expect.objectContaining({ code: "invalid-name" }));
  expect(await failureOf(kanban.existingBoard())).toMatchObject({
    code: "board-not-found",
    message: "there is no board site (chosen by HOLDFAST_KANBAN_BOARD)",
    hint: "correct the variable, or give --board SLUG",
  });
  expect(await failureOf(kanban.existingBoard("one"))).toMatchObject({ message: "there is no board one" });
});

test("K5 what is written in place of the switched board is no reason to take another", async () => {
  await using given = await createTestApp();
  const first = await given.app.kanban();
  await writeFile(first.files.current, "../../etc\n");
  const again = await given.app.forProfile("default");
  try {
    const kanban = await again.kanban();
    expect(() => kanban.board()).toThrow(expect.objectContaining({ code: "invalid-name" }));
    expect(kanban.board("default")).toBe("default");
  } finally {
    await again.close();
  }
});
