import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, onTestFinished, test } from "vitest";
import { createTestCli, PROGRAM, type TestCli } from "../helpers/cli.ts";

type Answer = { id: number; result?: Record<string, unknown>; error?: { message: string } };

const HELLO = {
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

/** Another program's client, with a server of its own process. */
async function connect(cli: TestCli, env: Readonly<Record<string, string>> = {}, mode: "legacy" | "auto" = "auto"): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [PROGRAM, "mcp"],
      env: { ...cli.env, ...env },
      cwd: cli.directory,
      stderr: "ignore",
    }),
  );
  onTestFinished(() => client.close());
  return client;
}

async function call(client: Client, name: string, args: Record<string, unknown> = {}) {
  const { content, isError = false, structuredContent } = await client.callTool({ name: `kanban_${name}`, arguments: args });
  const [first] = content as { text: string }[];
  return { text: first?.text ?? "", isError, error: (structuredContent as { error?: { code: string } } | undefined)?.error };
}

/** What the program answers to these messages, which are all of its input, by their numbers. */
async function ask(cli: TestCli, messages: readonly (object | string)[], env: Readonly<Record<string, string>> = {}) {
  const lines = messages.map((each, index) => (typeof each === "string" ? each : JSON.stringify({ jsonrpc: "2.0", id: index, ...each })));
  const { status, stdout, stderr } = await cli.run(["mcp"], { env, input: lines.join("\n") });
  const answers = stdout.split("\n").flatMap((line): Answer[] => (line === "" ? [] : [JSON.parse(line)]));
  return { status, stderr, answers: new Map(answers.map((answer) => [answer.id, answer])) };
}

async function claimed(cli: TestCli): Promise<{ id: string; env: Record<string, string> }> {
  const { task } = await cli.json<{ task: { id: string } }>(["kanban", "create", "Write", "--body", "a poem", "--assignee", "writer"]);
  const { env } = await cli.json<{ env: Record<string, string> }>(["kanban", "claim", task.id]);
  return { id: task.id, env };
}

describe("holdfast mcp", () => {
  test.each(["legacy", "auto"] as const)("K29 lets a worker do its whole work with tools (%s protocol)", async (mode) => {
    await using cli = await createTestCli();
    const { id, env } = await claimed(cli);
    const client = await connect(cli, env, mode);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain("kanban_list");
    expect(client.getInstructions()).toContain(`You are the worker of task ${id}. Begin with kanban_context.`);
    expect((await call(client, "context")).text).toContain("a poem");
    expect(JSON.parse((await call(client, "show")).text)).toMatchObject({
      task: { id, status: "running" },
      why: [],
      runs: [{ outcome: null }],
    });
    expect(JSON.parse((await call(client, "heartbeat")).text)).toMatchObject({ task: id });
    expect(JSON.parse((await call(client, "comment", { body: "half way" })).text)).toMatchObject({ author: "default", body: "half way" });
    const [made, last] = await Promise.all(
      ["next", "last"].map(
        async (title) => JSON.parse((await call(client, "create", { title, assignee: "writer" })).text).task as { id: string },
      ),
    );
    expect(JSON.parse((await call(client, "link", { parent: made?.id, child: last?.id })).text)).toMatchObject({ status: "todo" });
    await writeFile(join(cli.directory, "poem.txt"), "roses");
    expect(JSON.parse((await call(client, "attach", { path: "poem.txt", name: "first.txt" })).text)).toMatchObject({
      name: "first.txt",
      size: 5,
    });
    const done = await call(client, "complete", {
      summary: "written",
      metadata: { lines: 4 },
      artifacts: ["poem.txt"],
      created: [made?.id],
      tokens: 9,
    });
    expect(JSON.parse(done.text)).toMatchObject({ task: { id, status: "done" }, artifacts: [{ name: "poem.txt" }] });
    const [run] = await cli.json<object[]>(["kanban", "runs", id]);
    expect(run).toMatchObject({ outcome: "completed", summary: "written", tokens: 9, metadata: { lines: 4, created: [made?.id] } });
    // Its word was its last: it has lost the claim.
    expect(await call(client, "comment", { body: "late" })).toMatchObject({ isError: true, error: { code: "claim-lost" } });
  });

  test("K29 refuses a worker what is not its own, and the answer says why", async () => {
    await using cli = await createTestCli();
    const other = (await cli.run(["kanban", "create", "another"])).stdout.trim();
    const { id, env } = await claimed(cli);
    const client = await connect(cli, env);
    const codes: Record<string, string | undefined> = {};
    for (const [name, args] of [
      ["complete", { id: other }],
      ["block", { id: other, reason: "no" }],
      ["attach", { path: "/etc/passwd" }],
      ["attach", { path: "../../etc/passwd" }],
      ["complete", { created: ["t_00000000"] }],
      ["complete", { artifacts: ["absent"] }],
      ["comment", { body: "x", author: "somebody" }],
      ["comment", {}],
      ["show", { board: "other" }],
      ["block", { reason: "x", kind: "whim" }],
    ] as const) {
      const { isError, error, text } = await call(client, name, args);
      expect([isError, text]).toEqual([true, expect.stringMatching(/^error: .+\nhint: .+/)]);
      codes[`${name} ${JSON.stringify(args)}`] = error?.code;
    }
    expect(Object.values(codes)).toEqual([
      "move-refused",
      "move-refused",
      "artifact-refused",
      "artifact-refused",
      "move-refused",
      "artifact-refused",
      "invalid-input",
      "invalid-input",
      "move-refused",
      "invalid-input",
    ]);
    await expect(client.callTool({ name: "kanban_unblock", arguments: { id: other } })).rejects.toThrow(/kanban_unblock/);
    expect(await cli.json(["kanban", "show", id])).toMatchObject({ task: { status: "running" }, attachments: [], comments: [] });
  });

  test("K29 lets an orchestrator list and unblock, and look at every board", async () => {
    await using cli = await createTestCli();
    await cli.run(["kanban", "boards", "create", "other"]);
    const client = await connect(cli);
    const { task } = JSON.parse((await call(client, "create", { title: "here", blocked: "wait", board: "other" })).text);
    expect(JSON.parse((await call(client, "list", { board: "other", status: ["blocked"] })).text)).toMatchObject({
      board: "other",
      tasks: [{ id: task.id, title: "here", status: "blocked", assignee: null, priority: 0, why: [expect.stringContaining("wait")] }],
    });
    expect(JSON.parse((await call(client, "unblock", { id: task.id })).text)).toMatchObject({ status: "ready" });
    expect(await call(client, "unblock", { id: task.id })).toMatchObject({ isError: true, error: { code: "move-refused" } });
    expect((await call(client, "complete", {})).text).toContain("error: ");
  });

  test("K29 takes times as they are written, and says which field is unknown or missing", async () => {
    await using cli = await createTestCli();
    const client = await connect(cli);
    const create = (args: Record<string, unknown>) => call(client, "create", { title: "x", ...args });
    const { task } = JSON.parse((await create({ deadline: "2999-12-24T18:00:00+01:00", scheduledFor: "2999-01-01T00:00Z" })).text);
    expect([task.deadline, task.scheduledFor]).toEqual([Date.UTC(2999, 11, 24, 17), Date.UTC(2999, 0, 1)]);
    for (const deadline of ["2999-12-24T18:00", "tomorrow", 1, null, "2999-99-99T00:00Z"])
      expect(await create({ deadline })).toMatchObject({
        isError: true,
        text: expect.stringContaining("error: deadline is not a time with its zone"),
      });
    expect((await call(client, "comment", { id: task.id, text: "x" })).text).toBe(
      'error: task.comment: there is no field "text"\nhint: it has id, board, body',
    );
    expect((await call(client, "comment", { id: task.id, bdy: "x" })).text).toContain('hint: did you mean "body"?');
    expect((await call(client, "comment", { id: task.id })).text).toContain("error: task.comment: body is missing\n");
    expect(await call(client, "list", { limit: 0 })).toMatchObject({ isError: true, error: { code: "invalid-input" } });
  });

  test.each([
    { HOLDFAST_TASK: "t_0000000a" },
    { HOLDFAST_RUN_TOKEN: "x" },
    { HOLDFAST_RUN: "1" },
    { HOLDFAST_RUN: "1", HOLDFAST_TASK: "t_0000000a" },
  ])("K29 does not act as a person for a worker that has lost some of its variables: %j", async (env) => {
    await using cli = await createTestCli();
    for (const args of [["mcp"], ["kanban", "list"]]) {
      const { status, stderr } = await cli.run(args, { env });
      expect([status, stderr]).toEqual([1, expect.stringMatching(/^error: this is a part of a worker's variables, without HOLDFAST_/)]);
    }
  });

  test("K29 answers everything it was asked before its input ended, past lines that are no messages", async () => {
    await using cli = await createTestCli();
    const create = (title: string) => ({ method: "tools/call", params: { name: "kanban_create", arguments: { title } } });
    const { status, stderr, answers } = await ask(cli, [
      HELLO,
      "garbage",
      create("one"),
      '{"jsonrpc": "1"}',
      "",
      create("two"),
      { method: "ping" },
    ]);
    expect([status, [...answers.keys()].sort()]).toEqual([0, [0, 2, 5, 6]]);
    expect(stderr.match(/^warning: what came was not understood/gm)).toHaveLength(2);
    const { tasks } = await cli.json<{ tasks: { title: string }[] }>(["kanban", "list"]);
    expect(tasks.map(({ title }) => title).sort()).toEqual(["one", "two"]);
  });

  test("K29 answers a request that is none, and says why it cannot go on", async () => {
    await using cli = await createTestCli();
    const { answers, status } = await ask(cli, [{ method: "tools/list", params: [] }, "null", { method: "ping" }]);
    expect([status, answers.get(0)?.error?.message, answers.get(2)?.result]).toEqual([0, "this is no request of MCP", {}]);
    const long = await cli.run(["mcp"], { input: "x".repeat(33 * 1024 * 1024) });
    expect([long.status, long.stderr]).toEqual([1, expect.stringMatching(/^error: a message has more than 33554432 bytes/)]);
  });

  test("K29 answers one message alone, which is how a bridge out of a sandbox asks", async () => {
    await using cli = await createTestCli();
    const { id, env } = await claimed(cli);
    const { answers } = await ask(cli, [{ method: "tools/call", params: { name: "kanban_context", arguments: {} } }], env);
    expect(JSON.stringify(answers.get(0)?.result)).toContain(`# Task ${id}`);
  });

  test("tells a person who has started it what it waits for", async () => {
    await using cli = await createTestCli();
    expect(await cli.run(["mcp"], { tty: true })).toMatchObject({
      status: 0,
      stderr: expect.stringContaining("note: messages of an MCP client"),
    });
    expect(await cli.run(["mcp"])).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  test("K29 answers also whoever would listen for changes, of which there are none", async () => {
    await using cli = await createTestCli();
    const [listen, discover] = ["subscriptions/listen", "server/discover"].map((method) => ({
      method,
      params: {
        notifications: { toolsListChanged: true },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    }));
    const { stdout } = await cli.run(["mcp"], { input: JSON.stringify({ jsonrpc: "2.0", id: 0, ...listen }) });
    expect(JSON.parse(stdout)).toMatchObject({ method: "notifications/subscriptions/acknowledged" });
    const older = await ask(cli, [{ method: "subscriptions/listen", params: {} }]);
    expect(older.answers.get(0)?.error?.message).toBe("Method not found");
    const { answers } = await ask(cli, [discover ?? ""]);
    expect(answers.get(0)?.result?.capabilities).toEqual({ tools: { listChanged: false } });
  });

  test("K29 fails with a clear word when there is no board to serve", async () => {
    await using cli = await createTestCli();
    await cli.run(["config", "set", "kanban.database", "/proc/none/board.db"]);
    const { status, stderr, answers } = await ask(cli, [HELLO]);
    expect([status, answers.size]).toEqual([1, 0]);
    expect(stderr).toMatch(/^error: .*\/proc\/none/);
  });

  test("K29 ends by TERM, and when its client is gone", async () => {
    await using cli = await createTestCli();
    const served = cli.start(["mcp"]);
    served.child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, ...HELLO })}\n`);
    await served.untilPrinted("serverInfo");
    served.child.kill("SIGTERM");
    expect(await served.ended).toMatchObject({ status: 143 });
    const left = cli.start(["mcp"]);
    left.child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, ...HELLO })}\n`);
    await left.untilPrinted("serverInfo");
    left.child.stdin?.destroy();
    await once(left.child, "exit");
    expect(await left.ended).toMatchObject({ status: 0, stderr: "" });
  });
});
