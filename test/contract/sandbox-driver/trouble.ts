/** @module Cases: state that is damaged or cannot be saved, sandboxes that go away, login shells that fail. */
import { expect, vi } from "vitest";
import { alive, printed } from "../../helpers/collect.ts";
import { failureOf } from "../../helpers/failure-of.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import type { Cases } from "./kit.ts";

export const troubleCases: Cases = {
  "a damaged session refuses to run, says how to go on, and can be removed": async ({ shell }) => {
    const { run, text, sandbox, session, connection, stateFile } = await shell();
    await run("export A=1; export RAN=no");
    const whole = await printed(connection, 'cat "$1"', stateFile);
    const damages = [
      "",
      "garbage\n",
      whole.slice(0, -20),
      `${whole.split("\n")[0]}\nexit 0\n`,
      "if then\n",
      "return 1\n",
      "__holdfast_whole=\n",
    ];
    for (const damaged of damages) {
      await printed(connection, 'printf %s "$2" >"$1"', stateFile, damaged);
      const attempt = run("touch ran");
      await expect(attempt, damaged).rejects.toMatchObject({
        code: "session-failed",
        hint: expect.stringContaining(`session rm ${session}`),
      });
    }
    await printed(connection, 'echo "kill -9 \\$\\$" >"$1"', stateFile);
    await expect(run("touch ran")).rejects.toMatchObject({ code: "spawn-failed", facts: { signal: "SIGKILL" } });
    await sandbox.sessions.remove(session);
    expect(await text("[[ -e ran ]] || echo did not run; echo ${A-fresh}")).toBe("did not run\nfresh");
  },

  "a session whose directory makes no sense begins in the root": async ({ shell }) => {
    const { run, text, connection, stateFile } = await shell();
    await run("export A=1");
    for (const nonsense of ["relative", "."]) {
      await printed(connection, 'sed -i "1s|=.*|=$2|" "$1"', stateFile, nonsense);
      expect(await text("pwd; echo $A")).toBe("/\n1");
    }
  },

  "S20 a call in a sandbox that is destroyed meanwhile says that it may have run": async ({ driver, create, connect, shell }) => {
    const ref = await create();
    const { start: call } = await shell({ on: { ref, connection: await connect(ref) } });
    const running = call("echo begun; sleep 1000");
    await running.untilPrinted("begun");
    const outcome = failureOf(running.result);
    await driver.destroy(ref);
    expect(await outcome).toMatchObject({ code: "sandbox-lost", retryable: false, facts: { mayHaveRun: true } });
  },

  "a state that cannot be saved is a warning, and the old one stays": async ({ shell }) => {
    const { run, text, stateFile, connection } = await shell();
    await run("export A=1");
    // A daemon takes no more than 16 MiB; a shell that writes the file itself finds a directory in its way.
    const spoil = connection.daemon ? "BIG=$(head -c 17000000 /dev/zero | tr '\\0' x); export BIG" : `mkdir '${stateFile}.'$$`;
    const result = await run(`export A=2; ${spoil}; echo ran`);
    expect(result).toMatchObject({ exitCode: 0, stdout: "ran\n" });
    expect(result.warnings).toEqual([expect.stringMatching(/not saved/)]);
    expect(await text("echo $A")).toBe("1");
  },

  "a session that a command removes from under itself is made again": async ({ shell }) => {
    const { run, text, stateFile } = await shell();
    const result = await run(`export A=1; rm -rf '${stateFile.replace(/\/state$/, "")}'; exit 4`);
    expect(result).toMatchObject({ exitCode: 4, warnings: [expect.stringMatching(/not saved/)] });
    expect(await text("echo ${A-fresh}")).toBe("fresh");
  },

  "S32 a login shell that fails costs a warning, not the session": async ({ apart }) => {
    const kit = await apart();
    for (const profile of ["exit 7", "echo oh no >&2; exit 1", "exec /not/there", "kill -9 $$", "if then"]) {
      const { run, text, connection } = await kit.shell();
      await printed(connection, 'cat >~/.bash_profile <<<"$1"', profile);
      const first = await run("echo works; export A=1");
      expect(first.stdout).toBe("works\n");
      if (profile !== "if then") expect(first.warnings, profile).toEqual([expect.stringMatching(/the login shell failed \(.+\)/)]);
      expect(await text("echo $A")).toBe("1");
      expect((await run("true")).warnings).toEqual([]);
    }
  },

  "S32 what a failing login shell said is in the warning": async ({ apart }) => {
    const { run, connection } = await (await apart()).shell();
    await printed(connection, "echo 'echo first >&2; echo the reason >&2; exit 3' >~/.bash_profile");
    expect((await run("true")).warnings).toEqual([expect.stringContaining("it ended with status 3: the reason")]);
  },

  "S32 a login shell that hangs is given up, with a warning": async ({ apart }) => {
    const clock = createManualClock();
    const { start, text, connection } = await (await apart()).shell({ clock, loginLimitMs: 1500 });
    await printed(connection, "echo 'trap \"\" TERM; sleep 1000 & echo $! >~/pid; wait' >~/.bash_profile");
    const call = start("echo works");
    const pid = await printed(connection, "until [[ -s ~/pid ]]; do sleep 0.01; done; cat ~/pid");
    // The shell may run before whoever started it knows.
    await vi.waitFor(() => expect(clock.pending).toBe(1), { timeout: 60_000 });
    await clock.advance(1500);
    expect(await call.result).toMatchObject({
      stdout: "works\n",
      warnings: [expect.stringContaining("it did not end within 1.5 s")],
    });
    expect(await alive(connection, [pid])).toEqual([]);
    expect(await text("echo still works")).toBe("still works");
  },

  "S32 a login shell that waits for input meets its end": async ({ apart }) => {
    const { run, connection } = await (await apart()).shell();
    await printed(
      connection,
      "echo 'read -r answer; export ANSWER=\"<$answer>\"; yes | head -c 300000; yes | head -c 300000 >&2' >~/.bash_profile",
    );
    expect(await run("echo $ANSWER")).toMatchObject({ stdout: "<>\n", warnings: [] });
  },
};
