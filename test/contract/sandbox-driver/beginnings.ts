/** @module Cases: calls that end before, or while, they begin. */
import { Readable } from "node:stream";
import { expect } from "vitest";
import { alive, printed } from "../../helpers/collect.ts";
import { failureOf } from "../../helpers/failure-of.ts";
import type { Cases } from "./kit.ts";

export const beginningCases: Cases = {
  "S32 a call given up while its session begins leaves no login shell behind": async ({ apart }) => {
    const { run, text, connection } = await (await apart()).shell();
    await printed(connection, "echo 'sleep 1000 & echo $! >~/pid; wait' >~/.bash_profile");
    const abort = new AbortController();
    const call = failureOf(run("export RAN=yes", { signal: abort.signal }));
    const pid = await printed(connection, "until [[ -s ~/pid ]]; do sleep 0.01; done; cat ~/pid");
    abort.abort();
    expect(await call).toMatchObject({ code: "aborted" });
    expect(await alive(connection, [pid])).toEqual([]);
    await printed(connection, "rm ~/.bash_profile");
    expect(await text("echo next $RAN")).toBe("next");
  },

  "S32 a login shell that sets PATH anew does not lose what the sandbox's own had": async ({ apart }) => {
    const { text, connection } = await (await apart()).shell();
    await printed(connection, "echo 'PATH=/from/profile:/usr/bin:/bin' >~/.bash_profile");
    const own = (await printed(connection, 'echo "$PATH"')).split(":");
    const path = (await text('echo "$PATH"')).split(":");
    expect(path).toEqual(expect.arrayContaining(["/from/profile", ...own]));
    expect(path).toHaveLength(new Set(path).size);
  },

  "S35 a stream of input that fails before the command begins is an error, and the command does not run": async ({ shell }) => {
    const { run, text } = await shell();
    const broken = new Readable({ read() {} });
    broken.destroy(new Error("no such file"));
    const late = new Readable({
      read() {
        queueMicrotask(() => this.destroy(new Error("no such file")));
      },
    });
    late.read();
    for (const stdin of [broken, late]) {
      expect(await failureOf(run("export RAN=yes", { stdin }))).toMatchObject({
        code: "invalid-input",
        message: expect.stringContaining("no such file"),
      });
    }
    expect(await text("echo [$RAN]")).toBe("[]");
  },
};
