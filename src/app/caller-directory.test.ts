import { expect, test } from "vitest";
import { createTestApp } from "../../test/helpers/test-app.ts";
import { createApp } from "./create-app.ts";

test("S8 a caller's directory that has been deleted is not bound to /workspace, and nothing is made in its place", async () => {
  await using here = await createTestApp();
  const given = { "terminal.backend": "docker", "terminal.docker_mount_cwd_to_workspace": "true" };
  const flags = Object.entries(given).map(([key, value]) => ({ name: "-c", key, value }));
  const app = await createApp({ environment: here.app.environment, cwd: null, flags });
  await expect(app.spec()).rejects.toMatchObject({ code: "cwd-invalid", message: expect.stringContaining("bound to /workspace") });
  await app.close();
});
