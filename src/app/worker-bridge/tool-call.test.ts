import { describe, expect, test } from "vitest";
import { HoldfastError } from "../../base/errors.ts";
import { readToolMessage, succeeded } from "./tool-call.ts";

const read = (message: unknown) => readToolMessage(Buffer.from(JSON.stringify(message)));
const call = (name: string, args: unknown) => ({
  jsonrpc: "2.0",
  id: 7,
  method: "tools/call",
  params: { name, arguments: args, _meta: { a: 1 } },
});

describe("a message of MCP from a sandbox", () => {
  test("K29 has its files and places as words, and takes others in their place", () => {
    const complete = read(call("kanban_complete", { id: "t_0000000a", artifacts: ["a", 1, "b"], summary: "s" }));
    expect([complete.verb, complete.words]).toEqual([
      "complete",
      [
        { option: "artifacts", kind: "file", value: "a" },
        { option: "artifacts", kind: "file", value: "b" },
        { option: null, kind: "text", value: "t_0000000a" },
      ],
    ]);
    const args = { id: "t_0000000a", artifacts: ["/x/a", 1, "/x/b"], summary: "s" };
    expect(JSON.parse(complete.line(["/x/a", "/x/b", "t_0000000a"]))).toEqual(call("kanban_complete", args));
    const attach = read(call("kanban_attach", { path: "f" }));
    expect(JSON.parse(attach.line(["/x/f"]))).toEqual(call("kanban_attach", { path: "/x/f" }));
    const create = read(call("kanban_create", { title: "t", workspace: "dir:/workspace" }));
    expect(create.words).toEqual([{ option: "workspace", kind: "workspace", value: "dir:/workspace" }]);
    expect(read(call("kanban_request_review", {})).verb).toBe("request-review");
  });

  test.each([
    ["another method", { jsonrpc: "2.0", id: 1, method: "tools/list", params: { name: "kanban_attach", arguments: { path: "f" } } }],
    ["a notification", { jsonrpc: "2.0", method: "notifications/initialized" }],
    ["a tool of the name of something else", call("__proto__", { path: "f" })],
    ["arguments that are none", call("kanban_attach", "f")],
    ["no arguments", call("kanban_attach", undefined)],
  ])("is passed on as it is: %s", (_, message) => {
    const { words, line } = read(message);
    expect(words).toEqual([]);
    expect(JSON.parse(line([]))).toEqual(JSON.parse(JSON.stringify(message)));
  });

  test.each(["", "garbage", "[]", "1", "null"])("is refused when it is none: %j", (text) => {
    expect(() => readToolMessage(Buffer.from(text))).toThrow(/^the message is not/);
  });

  test.each([null, 1.5, {}, true, "i".repeat(1001)])("K29 is refused when its answer could not be taken under its id", (id) => {
    expect(() => read({ ...call("kanban_complete", {}), id })).toThrow(/^the message is not carried out: its id/);
  });

  test("is answered when the tool could not be called, if somebody waits", () => {
    const error = new HoldfastError("too-large", "too much", { hint: "give less" });
    const text = "error: too much\nhint: give less";
    expect(JSON.parse(read(call("kanban_attach", {})).failed(error))).toEqual({
      jsonrpc: "2.0",
      id: 7,
      result: { isError: true, content: [{ type: "text", text }] },
    });
    expect(JSON.parse(read({ jsonrpc: "2.0", id: "x", method: "tools/list" }).failed(error))).toEqual({
      jsonrpc: "2.0",
      id: "x",
      error: { code: -32603, message: text },
    });
    expect(read({ jsonrpc: "2.0", method: "notifications/initialized" }).failed(error)).toBe("");
  });

  test("has succeeded only when its tool says so", () => {
    const answer = (rest: object) => `${JSON.stringify({ jsonrpc: "2.0", id: 7, ...rest })}\n`;
    expect(succeeded(answer({ result: { content: [] } }))).toBe(true);
    for (const each of [answer({ result: { isError: true } }), answer({ error: { code: 1 } }), ""]) expect(succeeded(each)).toBe(false);
  });
});
