import { PassThrough, Readable, Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { collector } from "../../test/helpers/cli.ts";
import { HoldfastError } from "../base/errors.ts";
import { createTerminal } from "./render.ts";

function terminalWith({ tty = false, noColor, input = "" }: { tty?: boolean; noColor?: string; input?: string } = {}) {
  const [stdout, stderr] = [collector(), collector()];
  const terminal = createTerminal({
    stdin: () => Object.assign(Readable.from([input]), { isTTY: tty }),
    stdout: stdout.stream,
    stderr: Object.assign(stderr.stream, { isTTY: tty }),
    noColor,
  });
  return { terminal, out: stdout.text, err: stderr.text, stdout: stdout.stream };
}

const problem = new HoldfastError("usage", "this was wrong", { hint: "do that", facts: { word: "x" }, cause: new Error("the root") });
// biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal would obey, or a line that looks like one of ours.
const FOREIGN = /[\u001b\u009b\u202e\u2066]|^hint: fake/m;
const quiet = { json: false, debug: false };

describe("errors", () => {
  test("are one sentence and a hint on standard error, without colours where nobody looks", () => {
    const { terminal, out, err } = terminalWith();
    terminal.error(problem, quiet);
    expect(err()).toBe("error: this was wrong\nhint: do that\n");
    expect(out()).toBe("");
  });

  test("are coloured on a terminal unless NO_COLOR says otherwise, and read the same", () => {
    const shown = (noColor: string | undefined) => {
      const { terminal, err } = terminalWith({ tty: true, ...(noColor !== undefined && { noColor }) });
      terminal.error(problem, quiet);
      terminal.warn("careful");
      return err();
    };
    const plain = "error: this was wrong\nhint: do that\nwarning: careful\n";
    expect(shown("1")).toBe(plain);
    expect(shown(undefined)).not.toBe(plain);
    expect(shown("")).toBe(shown(undefined));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters.
    expect(shown(undefined).replaceAll(/\u001b\[\d+m/g, "")).toBe(plain);
  });

  test("are one line of JSON with --json", () => {
    const { terminal, err } = terminalWith();
    terminal.error(problem, { json: true, debug: false });
    const text = err();
    expect(text.split("\n")).toHaveLength(2);
    expect(JSON.parse(text)).toEqual({
      error: { code: "usage", message: "this was wrong", hint: "do that", retryable: false, facts: { word: "x" } },
    });
  });

  test("show their stack and causes with --debug only", () => {
    const { terminal, err } = terminalWith();
    terminal.error(problem, { json: false, debug: true });
    expect(err()).toMatch(/render\.test\.ts.*caused by: Error: the root/s);
  });

  test("keep to their line whatever name is in them", () => {
    const { terminal, err } = terminalWith();
    terminal.error(new HoldfastError("usage", "a\nb\u001b[2J\u0085\u007f", { hint: "c\td" }), quiet);
    expect(err()).toBe("error: a\\nb\\u001b[2J\\u0085\\u007f\nhint: c\\td\n");
  });

  test("show no other writing direction and no foreign line in their causes either", () => {
    const { terminal, err } = terminalWith();
    const forged = "x\u001b[31m\nhint: fake\u202e\u2066";
    const error = new HoldfastError("usage", forged, { facts: { forged }, cause: new Error(forged, { cause: forged }) });
    terminal.error(error, { json: false, debug: true });
    terminal.error(error, { json: true, debug: false });
    expect(err()).not.toMatch(FOREIGN);
    expect(JSON.parse(err().trim().split("\n").at(-1) ?? "").error.message).toBe(forged);
  });
});

describe("data", () => {
  test("in tables stands in columns, and control characters are shown", () => {
    const { terminal, out } = terminalWith();
    terminal.table(
      ["A", "LONG", "C"],
      [
        ["1", "2", ""],
        ["wide", "x\ny", "3"],
      ],
    );
    expect(out()).toBe("A     LONG  C\n1     2\nwide  x\\ny  3\n");
  });

  test("in bytes is not let go of before it has been handed on", async () => {
    let release = () => {};
    const seen: string[] = [];
    const slow = new Writable({
      write(chunk: Buffer, _encoding, callback) {
        release = () => {
          seen.push(chunk.toString());
          callback();
        };
      },
    });
    const terminal = createTerminal({ stdin: () => Readable.from([]), stdout: slow, stderr: new PassThrough(), noColor: undefined });
    const chunk = Buffer.from("small");
    const written = terminal.bytes(chunk, "stdout");
    expect(written).toBeInstanceOf(Promise);
    void Promise.resolve(written).then(() => chunk.fill("x"));
    release();
    await written;
    expect(seen).toEqual(["small"]);
  });

  test("is no longer waited for once it is abandoned", async () => {
    const stuck = new Writable({ write: () => {} });
    const terminal = createTerminal({ stdin: () => Readable.from([]), stdout: stuck, stderr: new PassThrough(), noColor: undefined });
    const written = terminal.bytes(Buffer.from("x"), "stdout");
    terminal.abandonOutput();
    await written;
    await terminal.flush();
    expect(terminal.bytes(Buffer.from("y"), "stdout")).toBeUndefined();
  });

  test.each([
    ["EPIPE", "reader gone"],
    ["EIO", expect.objectContaining({ code: "EIO" })],
    ["ENOSPC", expect.objectContaining({ code: "ENOSPC" })],
  ])("that cannot be written (%s) is noticed, once", async (code, expected) => {
    const { terminal, stdout } = terminalWith();
    let calls = 0;
    terminal.onOutputLoss(() => calls++);
    stdout.destroy(Object.assign(new Error(code), { code }));
    terminal.line("more");
    await terminal.flush();
    expect(terminal.outputLoss).toEqual(expected);
    expect(calls).toBe(1);
    terminal.onOutputLoss(() => calls++);
    expect(calls).toBe(2);
  });
});

test("a question is asked on standard error, so that data stays data", async () => {
  const { terminal, out, err } = terminalWith({ tty: true, input: " yes \n" });
  expect(terminal.interactive).toBe(true);
  expect(await terminal.ask("Go on?")).toBe("yes");
  expect(err()).toContain("Go on? ");
  expect(out()).toBe("");
  expect(terminalWith().terminal.interactive).toBe(false);
});

test("questions, log records and JSON show control characters instead of obeying them", async () => {
  const name = "x\u001b[31m\nhint: fake\u202e\u009b";
  const { terminal, out, err } = terminalWith({ tty: true, noColor: "1", input: "y\n" });
  terminal.log({ time: 0, level: "warn", message: name, fields: { name } });
  terminal.json({ name });
  expect(err() + out()).not.toMatch(FOREIGN);
  expect(JSON.parse(out())).toEqual({ name });
  await terminal.ask(`${name}?`);
  expect(err()).toContain("x\\u001b[31m\\nhint: fake\\u202e\\u009b? ");
});
