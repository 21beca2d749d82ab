import { once } from "node:events";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { collector } from "../../test/helpers/cli.ts";
import { createManualClock } from "../../test/helpers/manual-clock.ts";
import type { ExitStatus } from "../sandbox/driver.ts";
import type { Attachment, AttachOptions, TerminalSize } from "../sandbox/process.ts";
import { attachTerminal } from "./attach-terminal.ts";
import { parseDetachKeys } from "./detach-keys.ts";
import { createTerminal } from "./render.ts";
import { openScreen } from "./screen.ts";

/** A terminal of streams, joined to the other end of a line into a process. */
function join({ redraw = false } = {}) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, raw: false, setRawMode: (raw: boolean) => (stdin.raw = raw) });
  const out = collector();
  const stdout = Object.assign(out.stream, { isTTY: true, rows: 24, columns: 80 });
  const terminal = createTerminal({ stdin: () => stdin, stdout, stderr: new PassThrough(), noColor: undefined });
  const input = new PassThrough({ highWaterMark: 4 });
  const { promise: ended, resolve: end } = Promise.withResolvers<ExitStatus | null>();
  const sizes: (TerminalSize | undefined)[] = [];
  const attached = Promise.withResolvers<AttachOptions>();
  let detached = false;
  const attachment: Attachment = {
    input,
    resize: (size) => void sizes.push(size),
    signal: () => {},
    detach: () => {
      detached = true;
    },
    ended,
  };
  const end$ = attachTerminal(terminal, {
    screen: openScreen(terminal),
    detachKeys: parseDetachKeys("ctrl-p,ctrl-q"),
    clock: createManualClock(),
    redraw,
    async attach(options) {
      sizes.push(options.size);
      attached.resolve(options);
      return attachment;
    },
  });
  return { stdin, stdout, out, input, sizes, end, attached: attached.promise, over: end$, isDetached: () => detached };
}

describe("a terminal that is joined to a process", () => {
  test("shows its output, sends it keys, and gives its status", async () => {
    const { stdin, out, input, end, attached, over } = join();
    await (await attached).onOutput(Buffer.from("hello"));
    stdin.write("ls\u0003");
    await once(input, "readable");
    expect(String(input.read())).toBe("ls\u0003");
    expect(stdin.raw).toBe(true);
    end({ exitCode: 3, signal: null });
    expect(await over).toEqual({ kind: "ended", status: { exitCode: 3, signal: null } });
    expect(stdin.raw).toBe(false);
    expect(out.text()).toBe("hello");
    expect(stdin.listenerCount("data")).toBe(0);
  });

  test("is left by the keys for it, and put in order", async () => {
    const { stdin, out, over, isDetached } = join();
    stdin.write("\u0010\u0011");
    expect(await over).toEqual({ kind: "detached" });
    expect(isDetached()).toBe(true);
    expect(stdin.raw).toBe(false);
    expect(out.text()).toContain("\u001b[?25h");
  });

  test("follows its size", async () => {
    const { stdout, sizes, end, attached, over } = join();
    await attached;
    await Promise.resolve();
    Object.assign(stdout, { rows: 50, columns: 100 });
    stdout.emit("resize");
    expect(sizes).toEqual([
      { rows: 24, columns: 80 },
      { rows: 50, columns: 100 },
    ]);
    end({ exitCode: 0, signal: null });
    await over;
    stdout.emit("resize");
    expect(sizes).toHaveLength(2);
  });

  test("makes a program draw again by changing its size", async () => {
    const { sizes, end, attached, over } = join({ redraw: true });
    await attached;
    end({ exitCode: 0, signal: null });
    await over;
    expect(sizes).toEqual([
      { rows: 24, columns: 81 },
      { rows: 24, columns: 80 },
    ]);
  });

  test("does not read faster than the process", async () => {
    const { stdin, input, end, attached, over } = join();
    await attached;
    const paused = once(stdin, "pause");
    stdin.write("0123456789");
    await paused;
    input.resume();
    await once(stdin, "resume");
    end({ exitCode: 0, signal: null });
    await over;
  });

  test.each([
    ["ends", (stdin: PassThrough) => stdin.end()],
    ["fails", (stdin: PassThrough) => stdin.destroy(Object.assign(new Error("EIO"), { code: "EIO" }))],
  ])("hangs up when it %s", async (_, act) => {
    const { stdin, over, isDetached } = join();
    act(stdin);
    expect(await over).toEqual({ kind: "hung up", exitStatus: 129 });
    expect(isDetached()).toBe(true);
  });

  test("hangs up when nothing can be shown any more", async () => {
    const { stdout, attached, over } = join();
    await attached;
    stdout.destroy(Object.assign(new Error("EIO"), { code: "EIO" }));
    expect(await over).toEqual({ kind: "hung up", exitStatus: 129 });
  });

  test("gives up a process that cannot be reached", async () => {
    const terminal = createTerminal({ stdin: () => new PassThrough(), stdout: collector().stream, stderr: new PassThrough(), noColor: "" });
    const failing = attachTerminal(terminal, {
      screen: null,
      detachKeys: new Uint8Array(),
      clock: createManualClock(),
      attach: async () => {
        throw new Error("gone");
      },
    });
    await expect(failing).rejects.toThrow("gone");
  });
});
