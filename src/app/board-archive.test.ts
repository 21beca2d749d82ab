import { truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { forEachTest } from "../../test/helpers/suite.ts";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { boardFiles } from "../board/files.ts";
import { createStaging, packStaging } from "./board-archive.ts";

const scratch = forEachTest(temporaryDirectory);

test("an archive that fails before anybody reads it ends nobody, and whoever reads it then is told why", async () => {
  await using staging = await createStaging(boardFiles(join(scratch.path, "kanban")));
  await writeFile(staging.attachment(1), "");
  await truncate(staging.attachment(1), 2 ** 40);
  const archive = await packStaging(staging, {} as never);
  await new Promise<void>((resolve) => archive.once("close", resolve));
  await expect(archive.toArray()).rejects.toMatchObject({ code: "too-large" });
});
