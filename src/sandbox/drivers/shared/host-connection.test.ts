import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collect } from "../../../../test/helpers/collect.ts";
import { openPipes, openPipesInTheEnd } from "../../../../test/helpers/open-pipes.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../../../../test/helpers/temporary-directory.ts";
import { systemClock } from "../../../base/clock.ts";
import { HoldfastError } from "../../../base/errors.ts";
import type { Connection } from "../../driver.ts";
import { connectToHost } from "./host-connection.ts";

let scratch: TemporaryDirectory;
beforeAll(async () => {
  scratch = await temporaryDirectory();
});
afterAll(() => scratch[Symbol.asyncDispose]());

function connect(hostEnv: Record<string, string> = { PATH: process.env.PATH ?? "" }) {
  return connectToHost({ sandboxId: "test", stateDir: scratch.path, hostEnv, clock: systemClock, assertPresent: async () => {} });
}

test("300 programs leave no pipe open, whether they ran, failed to start or were killed", async () => {
  const before = openPipes();
  const connection = connect();
  for (let round = 0; round < 30; round++) {
    await Promise.all([
      ...Array.from({ length: 6 }, () => collect(connection, ["true"])),
      collect(connection, ["cat"], { input: "x" }),
      collect(connection, ["echo", "merged"], { merge: true }),
      collect(connection, ["/not/there"], { input: "x" }).catch(() => {}),
      connection.spawn(["sleep", "1000"], { stdin: "pipe", onOutput() {} }).then((process) => process.kill({ graceMs: 0 })),
    ]);
  }
  await connection[Symbol.asyncDispose]();
  expect(await openPipesInTheEnd(before)).toBe(before);
});

test("names are looked up on the sandbox's own path, not on that of the program's environment", async () => {
  const connection = connect();
  const { stdout } = await collect(connection, ["env"], { env: { PATH: "/not/there" } });
  expect(stdout.toString()).toContain("PATH=/not/there");
  await connection[Symbol.asyncDispose]();
  const blind = connect({ PATH: "/not/there:relative::" });
  await expect(collect(blind, ["env"])).rejects.toMatchObject({
    code: "spawn-failed",
    message: expect.stringContaining("env is not on the PATH"),
  });
  await blind[Symbol.asyncDispose]();
});

test("S20 what fails because the sandbox is removed at that moment says so, and that nothing ran", async () => {
  for (const attempt of [
    (connection: Connection) => collect(connection, ["true"]),
    (connection: Connection) => connection.files?.write(join(connection.stateDir, "a", "b"), Buffer.from("x")),
  ]) {
    let looks = 0;
    const connection = connectToHost({
      sandboxId: "test",
      stateDir: join(scratch.path, "removed"),
      hostEnv: { PATH: process.env.PATH ?? "" },
      clock: systemClock,
      async assertPresent() {
        // There at the first look only.
        if (looks++ > 0) throw new HoldfastError("sandbox-lost", "gone", { facts: { mayHaveRun: false } });
      },
    });
    await expect(attempt(connection)).rejects.toMatchObject({ code: "sandbox-lost", facts: { mayHaveRun: false } });
    await connection[Symbol.asyncDispose]();
  }
});
