import { PassThrough, Readable, Writable } from "node:stream";
import { expect, test } from "vitest";
import { createTestCli } from "../../test/helpers/cli.ts";
import { createTerminal } from "./render.ts";
import { runCli } from "./run-cli.ts";

test.each([
  ["a reader that went away", "EPIPE", { isTTY: false, status: 141, told: "" }],
  ["a terminal that went away", "EIO", { isTTY: true, status: 129, told: "" }],
  ["a failing disk", "EIO", { isTTY: false, status: 125, told: "error: standard output cannot be written" }],
])("%s gives the status for it", async (_, code, { isTTY, status, told }) => {
  await using cli = await createTestCli();
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) });
  const stderr = new PassThrough();
  const terminal = createTerminal({ stdin: () => Readable.from([]), stdout: Object.assign(stdout, { isTTY }), stderr, noColor: "1" });
  expect(await runCli(["exec", "--", "echo x"], { environment: cli.env, cwd: cli.directory, terminal })).toBe(status);
  expect(String(stderr.read() ?? "")).toMatch(told === "" ? /^$/ : told);
  await cli.run(["sandbox", "rm", "default", "--force"]);
});
