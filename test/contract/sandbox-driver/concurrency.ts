/** @module Cases: many calls at once. */
import { expect } from "vitest";
import { printed } from "../../helpers/collect.ts";
import type { Cases } from "./kit.ts";

export const concurrencyCases: Cases = {
  "S38 200 calls at once are all right, each with its own output": async ({ shell }) => {
    const { run } = await shell();
    const calls = Array.from({ length: 200 }, (_, index) =>
      run('read -r line; echo "out $N $line"; echo "err $N" >&2; exit $((N % 100))', { env: { N: String(index) }, stdin: `in ${index}\n` }),
    );
    const results = await Promise.all(calls);
    for (const [index, result] of results.entries()) {
      expect(result).toMatchObject({
        exitCode: index % 100,
        stdout: `out ${index} in ${index}\n`,
        stderr: `err ${index}\n`,
        timedOut: false,
      });
      expect(result.warnings).toEqual([]);
    }
  },

  "S38 a slow call does not delay another in the same session": async ({ shell }) => {
    const { start, run, text } = await shell();
    const slow = start("echo begun; until [[ -e go ]]; do sleep 0.01; done; echo done");
    await slow.untilPrinted("begun");
    expect(await text("echo quick")).toBe("quick");
    await run("touch go");
    expect((await slow.result).stdout).toBe("begun\ndone\n");
  },

  "S38 two calls at once in one session: the last to end is what stays, whole": async ({ shell }) => {
    const { run, start, text, directory } = await shell();
    await run("mkdir one two");
    const first = start("cd one; export WHO=first ONLY_FIRST=1; echo begun; until [[ -e ../go ]]; do sleep 0.01; done");
    await first.untilPrinted("begun");
    await run("cd two; export WHO=second");
    await run(["touch", `${directory}/go`], { session: "another" });
    await first.result;
    expect(await text("pwd; echo $WHO $ONLY_FIRST")).toBe(`${directory}/one\nfirst 1`);
  },

  "S38 many calls at once in one session never damage it": async ({ shell }) => {
    const { run, text, elsewhere } = await shell();
    const other = await elsewhere();
    await run("true");
    const body = "printf -v BIG '%20000s' $N; export BIG WHO=$N; f() { echo $N; }";
    const results = await Promise.all(Array.from({ length: 24 }, (_, N) => (N % 2 ? run : other.run)(`N=${N}; ${body}`)));
    expect(results.map(({ exitCode, warnings }) => [exitCode, warnings])).toEqual(results.map(() => [0, []]));
    const [who, big] = (await text("echo $WHO; echo ${BIG// /}")).split("\n");
    expect(who).toBe(big);
  },

  "S38 many first calls at once make the session once": async ({ create, connect, shell, another }) => {
    const ref = await create();
    const here = await shell({ on: { ref, connection: await connect(ref) } });
    const there = await shell({ on: { ref, connection: await connect(ref, another()) }, startDirectory: here.directory });
    const runs = [here.run, there.run];
    const results = await Promise.all(
      Array.from({ length: 16 }, (_, index) => runs[index % 2]?.(`export V${index}=1; pwd`, { session: "new" })),
    );
    expect(results.map((result) => [result?.stdout, result?.warnings])).toEqual(results.map(() => [`${here.directory}\n`, []]));
    expect(await here.sandbox.sessions.list()).toMatchObject([{ name: "new", cwd: here.directory }]);
    expect(await printed(here.connection, 'ls -A "$1/sessions/new"', here.connection.stateDir)).toBe(".keep\nstate");
  },

  "S38 calls in different sandboxes do not meet": async ({ owner, create, connect, shell }) => {
    const shells = await Promise.all(
      ["red", "blue"].map(async (task) => {
        const ref = await create(owner({ task }));
        return shell({ on: { ref, connection: await connect(ref) } });
      }),
    );
    await Promise.all(shells.map(({ run }, index) => run(`export COLOUR=${index}`, { session: "same" })));
    expect(await Promise.all(shells.map(({ text }) => text("echo $COLOUR", { session: "same" })))).toEqual(["0", "1"]);
  },
};
