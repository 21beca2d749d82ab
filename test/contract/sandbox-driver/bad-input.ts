/** @module Cases: input that no call can take is refused before anything runs. */
import { expect } from "vitest";
import type { CallOptions, Command } from "../../../src/sandbox/call.ts";
import type { Cases } from "./kit.ts";
import type { Shell } from "./shell.ts";

interface Refusal {
  readonly code: string;
  readonly command?: Command;
  readonly options?: CallOptions;
}

/** Every call is refused, with something to do about it, and none of them ran. */
async function expectRefused({ run, text }: Shell, refusals: readonly Refusal[]): Promise<void> {
  for (const { code, command = "export RAN=1", options = {} } of refusals) {
    const refused = { code, hint: expect.stringMatching(/\S/) };
    await expect(run(command, options), JSON.stringify([command, options])).rejects.toMatchObject(refused);
  }
  expect(await text("echo ${RAN-no}")).toBe("no");
}

export const badInputCases: Cases = {
  "an empty command is refused": async ({ shell }) => {
    const commands = ["", " ", "\n\t \n", [], [""], ["", "x"]];
    await expectRefused(
      await shell(),
      commands.map((command) => ({ code: "invalid-command", command })),
    );
  },

  "a command with a NUL byte is refused": async ({ shell }) => {
    const commands = ["export RAN=1 \0", "\0", ["echo", "a\0b"], ["ex\0port", "RAN=1"]];
    await expectRefused(
      await shell(),
      commands.map((command) => ({ code: "invalid-command", command })),
    );
  },

  "variables that cannot be set are refused": async ({ shell }) => {
    const names = ["", "1A", "A-B", "A=B", "A B", "ä", "A\n", "A[0]"];
    const env = [...names.map((name) => ({ [name]: "x" })), { A: "nul\0" }];
    await expectRefused(
      await shell(),
      env.map((each) => ({ code: "invalid-input", options: { env: each } })),
    );
  },

  "variables that Holdfast itself uses are refused": async ({ shell }) => {
    const here = await shell();
    const names = ["HOLDFAST_CALL", "HOLDFAST_SANDBOX", "HOLDFAST_ENV_X", "__holdfast_state"];
    await expectRefused(
      here,
      names.map((name) => ({ code: "invalid-input", options: { env: { [name]: "x" } } })),
    );
    expect(await here.text("echo $HOLDFAST_OTHER", { env: { HOLDFAST_OTHER: "free" } })).toBe("free");
  },

  "timeouts that are none are refused": async ({ shell }) => {
    const here = await shell();
    const timeouts = [0, -1, Number.NaN, Number.POSITIVE_INFINITY];
    await expectRefused(
      here,
      timeouts.map((timeoutMs) => ({ code: "invalid-input", options: { timeoutMs } })),
    );
    expect(await here.text("echo fine", { timeoutMs: 1e12 })).toBe("fine");
  },

  "session names that could lead elsewhere are refused": async ({ shell }) => {
    const here = await shell();
    const names = ["../x", "..", ".", "", "a/b", "/etc", "a\0b", "a b", "-x", ".hidden", "é", "x".repeat(65), "a\n", "a..b"];
    await expectRefused(
      here,
      names.map((session) => ({ code: "invalid-name", options: { session } })),
    );
    for (const name of ["../x", "a/b", ""])
      await expect(here.sandbox.sessions.remove(name)).rejects.toMatchObject({ code: "invalid-name" });
  },

  "a command of 5 MB runs": async ({ shell }) => {
    const { run, text } = await shell();
    const big = "x".repeat(5_000_000);
    expect(await run(`echo begin\ntext='${big}'\necho \${#text}\nexport A=1\nexit 3`)).toMatchObject({
      exitCode: 3,
      stdout: "begin\n5000000\n",
    });
    expect(await text(["printf", "%s", big]).then((said) => said.length)).toBeGreaterThan(1000);
    expect(await text("echo $A")).toBe("1");
  },

  "a long command keeps its last line breaks, quotes and backslashes": async ({ shell }) => {
    const { text } = await shell();
    const padding = `# ${"é".repeat(60_000)}\n`;
    expect(await text(`${padding}cat <<'END'\n  it's "quoted" \\n $HOME\nEND\n\n`)).toBe(`  it's "quoted" \\n $HOME`);
    expect((await text(`${padding}printf '%s|' "$0" "$#" "$LINENO"`)).startsWith("bash|0|")).toBe(true);
  },

  "a one-call value that no program could be given fails with a reason": async ({ shell }) => {
    await expectRefused(await shell(), [{ code: "spawn-failed", options: { env: { BIG: "x".repeat(3_000_000) } } }]);
  },
};
