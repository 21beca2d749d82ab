import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestCli } from "../../../test/helpers/cli.ts";

interface Profile {
  name: string;
  home: string;
  active: boolean;
}

describe("profile list", () => {
  test("K2 shows default before anything was made, and marks the one that counts", async () => {
    await using cli = await createTestCli();
    expect(await cli.run(["profile", "list"])).toEqual({
      status: 0,
      stdout: expect.stringMatching(/^ {3}PROFILE {2}HOME +DESCRIPTION\n\* {2}default {2}.*holdfast home\n$/),
      stderr: "",
    });
    await cli.run(["profile", "create", "reviewer"]);
    const { stdout } = await cli.run(["profile", "ls", "-p", "reviewer"]);
    const rows = stdout
      .trimEnd()
      .split("\n")
      .map((row) => row.split(/ {2,}/).map((cell) => cell.trim()));
    expect(rows.slice(1)).toEqual([
      ["", "default", cli.home],
      ["*", "reviewer", `${cli.home}/profiles/reviewer`],
    ]);
  });
});

describe("profile create", () => {
  test("K1 makes a home with a private .env; the name is trimmed and lower-cased", async () => {
    await using cli = await createTestCli();
    const { status, stdout, stderr } = await cli.run(["profile", "create", " Reviewer "]);
    expect({ status, stdout, stderr }).toEqual({
      status: 0,
      stdout: "",
      stderr: `note: profile reviewer is in ${cli.home}/profiles/reviewer\n`,
    });
    expect((await stat(join(cli.home, "profiles/reviewer/.env"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(cli.home, "profiles/reviewer"))).mode & 0o777).toBe(0o700);
  });

  test("K2 --clone-from takes the settings along, but no secrets", async () => {
    await using cli = await createTestCli();
    await mkdir(cli.home, { recursive: true });
    await writeFile(join(cli.home, ".env"), "SECRET_TOKEN=x\n");
    await cli.run(["config", "set", "terminal.timeout", "7"]);
    await cli.json(["profile", "create", "reviewer", "--clone-from", "default"]);
    expect(await cli.json(["config", "get", "terminal.timeout", "-p", "reviewer"])).toMatchObject({ value: 7 });
    expect(await readFile(join(cli.home, "profiles/reviewer/.env"), "utf8")).not.toContain("SECRET");
    expect((await cli.run(["profile", "create", "x", "--clone-from", "reviewr"])).stderr).toContain('did you mean "reviewer"?');
  });

  test.each([["default"], ["reviewer"], ["REVIEWER"]])("K2 refuses %s, which is there", async (name) => {
    await using cli = await createTestCli();
    await cli.run(["profile", "create", "reviewer"]);
    const { status, stderr } = await cli.run(["profile", "create", name]);
    expect(status).toBe(1);
    expect(stderr).toContain("there is already a profile");
  });

  test.each([["../x"], ["a/b"], [".."], ["-x"], [""], ["a b"], ["ä"], ["x".repeat(65)], ["a\0b"]])(
    "K1 refuses the name %j",
    async (name) => {
      await using cli = await createTestCli();
      for (const args of [
        ["create", "--", name],
        ["show", "--", name],
        ["use", "--", name],
        ["create", "x", `--clone-from=${name}`],
        ["describe", "--", name],
        ["rename", "--", name, "x"],
        ["rename", "--", "default", name],
        ["delete", "--confirm=x", "--", name],
        ["export", "--", name],
      ]) {
        const { status, stderr } = await cli.run(["profile", ...args]);
        expect(status).toBe(1);
        expect(stderr).toContain("is not a valid profile name");
      }
    },
  );
});

describe("profile show", () => {
  test("tells home, how it was chosen, what is configured and which sandboxes it has", async () => {
    await using cli = await createTestCli();
    await cli.run(["profile", "create", "reviewer"]);
    await cli.run(["config", "set", "terminal.timeout", "7", "-p", "reviewer"]);
    await cli.run(["exec", "-p", "reviewer", "-t", "build", "true"]);
    expect((await cli.run(["profile", "show", "reviewer"])).stdout).toBe(
      `profile: reviewer\nhome: ${cli.home}/profiles/reviewer\nconfigured: terminal.timeout\nsandboxes: build\n`,
    );
    expect((await cli.run(["profile", "show"])).stdout).toContain("profile: default (active, by default)\n");
    expect(await cli.json(["profile", "show", "-p", "reviewer"])).toMatchObject({ name: "reviewer", active: true, chosenBy: "flag" });
  });
});

describe("the profile that counts", () => {
  test("K3 is the flag's, then the variable's, then that of `profile use`, then default", async () => {
    await using cli = await createTestCli();
    for (const name of ["one", "two", "three"]) await cli.run(["profile", "create", name]);
    const chosen = async (args: string[], variable?: string) => {
      const profile = await cli.json<{ name: string; chosenBy: string }>(["profile", "show", ...args], {
        env: { HOLDFAST_PROFILE: variable },
      });
      return `${profile.name} by ${profile.chosenBy}`;
    };
    expect(await chosen([])).toBe("default by default");
    expect(await cli.run(["profile", "use", "One"])).toMatchObject({ status: 0, stderr: "note: profile one counts from now on\n" });
    expect(await chosen([])).toBe("one by use");
    expect(await chosen([], "two")).toBe("two by variable");
    expect(await chosen([], "  ")).toBe("one by use");
    expect(await chosen(["-p", "three"], "two")).toBe("three by flag");
    await cli.run(["profile", "use", "default"]);
    expect(await chosen([])).toBe("default by use");
  });

  test.each([
    [["-p", "one", "profile", "show", "--json"]],
    [["profile", "-p", "one", "show", "--json"]],
    [["profile", "show", "-p", "one", "--json"]],
    [["profile", "show", "--json", "--profile=one"]],
    [["-p", "two", "profile", "-p", "default", "show", "-pone", "--json"]],
  ])("K3 may be given anywhere on the line: %j", async (args) => {
    await using cli = await createTestCli();
    for (const name of ["one", "two"]) await cli.run(["profile", "create", name]);
    const { stdout } = await cli.run(args);
    expect(JSON.parse(stdout)).toMatchObject({ name: "one", chosenBy: "flag" });
  });

  test("K3 that does not exist is an error which names its source and the way out", async () => {
    await using cli = await createTestCli();
    await cli.run(["profile", "create", "reviewer"]);
    const byVariable = await cli.run(["profile", "list"], { env: { HOLDFAST_PROFILE: "reviewr" } });
    expect(byVariable.status).toBe(1);
    expect(byVariable.stderr).toMatch(/there is no profile reviewr \(chosen by HOLDFAST_PROFILE\)\nhint: did you mean "reviewer"\?/);
    await writeFile(join(cli.home, "active-profile"), "removed\n");
    const bySticky = await cli.run(["profile", "list"]);
    expect(bySticky.stderr).toContain("there is no profile removed (chosen by `holdfast profile use`)");
    // The hint is a command that works in this very state.
    const [, words = ""] = /`holdfast (.*?)`/.exec(bySticky.stderr.split("hint:")[1] ?? "") ?? [];
    expect(await cli.run(words.replace("NAME", "reviewer").split(" "))).toMatchObject({ status: 0 });
    expect(await cli.json<Profile[]>(["profile", "list"])).toContainEqual(expect.objectContaining({ name: "reviewer", active: true }));
  });

  test("K1 profiles never share sandboxes or settings", async () => {
    await using cli = await createTestCli();
    await cli.run(["profile", "create", "reviewer"]);
    await cli.run(["exec", "--", "export A=1"]);
    expect((await cli.run(["exec", "-p", "reviewer", "--", "echo [$A]"])).stdout).toBe("[]\n");
    await cli.run(["config", "set", "terminal.timeout", "7", "-p", "reviewer"]);
    expect(await cli.json(["config", "get", "terminal.timeout"])).toMatchObject({ value: 180 });
  });
});
