import { expect, test } from "vitest";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { createApp } from "./create-app.ts";
import { useSandbox } from "./sandbox-of-task.ts";

test("S33 a call is given up at once while what it needs is still being set up", async () => {
  await using directory = await temporaryDirectory();
  const app = await createApp({ environment: { HOLDFAST_HOME: directory.path }, cwd: directory.path });
  const abort = new AbortController();
  const slow = { ...app, forTask: () => Promise.withResolvers<never>().promise };
  const using = useSandbox(slow, "default", abort.signal);
  abort.abort();
  await expect(using).rejects.toMatchObject({ code: "aborted" });
});
