import type { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { programForReading } from "../../scripts/gen-cli-docs.ts";
import { createTestCli, type TestCli } from "../../test/helpers/cli.ts";
import { holdfastVersion } from "../base/version.ts";
import { pathOf } from "./line.ts";

let cli: TestCli;
beforeAll(async () => {
  cli = await createTestCli();
});
afterAll(() => cli[Symbol.asyncDispose]());

const PATHS = leaves(await programForReading()).map((command) => pathOf(command));

describe("help", () => {
  test("lists every verb with one line each", async () => {
    const { status, stdout, stderr } = await cli.run(["--help"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    for (const verb of ["exec", "shell", "process", "cp", "session", "sandbox", "config", "profile", "doctor", "completion"]) {
      expect(stdout).toMatch(new RegExp(`^  ${verb}\\b.* {2,}\\w`, "m"));
    }
    expect(stdout).not.toContain("__complete");
  });

  test.each(PATHS)("of holdfast %s %s has examples and exit statuses", async (...path) => {
    const words = path.filter(Boolean);
    const { status, stdout, stderr } = await cli.run([...words, "--help"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(new RegExp(`^Usage: ${["holdfast", ...words].join(" ")}`));
    expect(stdout).toMatch(/^Examples:\n {2}\S/m);
    expect(stdout).toMatch(/^Exit status:\n {2}0/m);
    expect(await cli.run(["help", ...words])).toEqual({ status, stdout, stderr });
    expect(await cli.run([...words.slice(0, -1), "help", ...words.slice(-1)])).toEqual({ status, stdout, stderr });
  });

  test.each([[[]], [["kanban"]], [["kanban", "boards"]], [["kanban", "create"]], [["sandbox"]], [["profile"]]])(
    "K32 of %j fits 80 columns but for the examples",
    async (words) => {
      const [before = ""] = (await cli.run([...words, "--help"])).stdout.split("\nExamples:");
      expect(before.split("\n").filter((line) => line.length > 80)).toEqual([]);
    },
  );

  test.each([[[]], [["process"]], [["session"]], [["sandbox"]], [["config"]], [["profile"]]])(
    "is what %j without more shows",
    async (words) => {
      expect(await cli.run(words)).toEqual(await cli.run([...words, "--help"]));
    },
  );

  test("for a verb that does not exist is an error", async () => {
    const { status, stdout, stderr } = await cli.run(["help", "sandbx"]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toContain('did you mean "sandbox"?');
  });

  test("behind exec's command is the command's own", async () => {
    const { stdout } = await cli.run(["exec", "echo", "--help"]);
    expect(stdout).toBe("--help\n");
  });
});

test.each([["--version"], ["-V"], ["--debug --version"]])("%s prints the version", async (words) => {
  expect(await cli.run(words.split(" "))).toEqual({ status: 0, stdout: `${holdfastVersion()}\n`, stderr: "" });
});

function leaves(command: Command): Command[] {
  return [...(command.parent ? [command] : []), ...command.commands.flatMap(leaves)];
}
