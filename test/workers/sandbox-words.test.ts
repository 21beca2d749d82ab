import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { COMMON, FORBIDDEN, WORKER_VERBS } from "../../src/app/worker-bridge/verbs.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { createTerminal } from "../../src/cli/render.ts";

test("K29 a worker in a sandbox may say all that the verbs for workers take, and the bridge knows which of it needs a value", async () => {
  const nowhere = new Writable();
  const terminal = createTerminal({ stdin: () => process.stdin, stdout: nowhere, stderr: nowhere, noColor: "1" });
  const program = await buildProgram({ terminal, runner: { run: async () => {} } });
  const kanban = program.commands.find((command) => command.name() === "kanban");
  const takes = (verb: string) => {
    const command = kanban?.commands.find((each) => each.name() === verb);
    const options = (command?.options ?? []).map(({ long, required }) => [long?.slice(2) ?? "", required ? "a value" : "none"] as const);
    return Object.fromEntries(options.filter(([name]) => !FORBIDDEN.includes(name)).sort());
  };
  const known = (verb: string) => {
    const { help: _, ...options } = { ...COMMON, ...WORKER_VERBS[verb]?.options };
    return Object.fromEntries(
      Object.entries(options)
        .map(([name, kind]) => [name, kind === "flag" ? "none" : "a value"])
        .sort(),
    );
  };
  const verbs = Object.keys(WORKER_VERBS);
  expect(Object.fromEntries(verbs.map((verb) => [verb, known(verb)]))).toEqual(
    Object.fromEntries(verbs.map((verb) => [verb, takes(verb)])),
  );
});
