/** @module The caller's terminal, or pipes, joined to a process in a sandbox until one of the two ends or the keys to leave are typed. */
import type { Readable } from "node:stream";
import type { Clock } from "../base/clock.ts";
import type { ExitStatus } from "../sandbox/driver.ts";
import type { Attachment, AttachOptions } from "../sandbox/process.ts";
import { createKeyFilter } from "./detach-keys.ts";
import { EXIT_HANGUP, onInterrupt } from "./interrupt.ts";
import type { Terminal } from "./render.ts";
import type { Screen } from "./screen.ts";

/**
 * Undoes what a full-screen program has set and cannot undo any more: the other screen, colours, a hidden cursor, the mouse, the keypad,
 * bracketed paste.
 */
const TIDY = "\u001b[?1047l\u001b[0m\u001b[?25h\u001b[?1000;1002;1003;1006l\u001b[?1l\u001b>\u001b[?2004l\r\n";

export type AttachEnd =
  | { readonly kind: "ended"; readonly status: ExitStatus }
  | { readonly kind: "detached" }
  /** The caller's side went away, or was asked to end. */
  | { readonly kind: "hung up"; readonly exitStatus: number };

export interface AttachTerminalOptions {
  /** Null for a process without a pty: then nothing is set on the caller's side. */
  readonly screen: Screen | null;
  readonly detachKeys: Uint8Array;
  readonly clock: Clock;
  /** Sent before anything that is typed. */
  readonly greeting?: string;
  /** What is shown there already should be drawn again. */
  readonly redraw?: boolean;
  attach(options: AttachOptions): Promise<Attachment>;
}

export async function attachTerminal(terminal: Terminal, options: AttachTerminalOptions): Promise<AttachEnd> {
  const { screen, attach, redraw = false } = options;
  const { promise: left, resolve: leave } = Promise.withResolvers<AttachEnd>();
  const hangUp = () => {
    terminal.abandonOutput();
    leave({ kind: "hung up", exitStatus: interrupt.exitStatus ?? EXIT_HANGUP });
  };
  using interrupt = onInterrupt({ first: hangUp, second: () => {} });
  terminal.onOutputLoss(hangUp);
  const attaching = attach({
    // A program draws itself again when the size changes, and only then.
    ...(screen && { size: redraw ? { ...screen.size, columns: screen.size.columns + 1 } : screen.size }),
    onOutput: (chunk) => terminal.bytes(chunk, "stdout"),
  });
  const joined = attaching.then((attachment) => join(attachment, { terminal, left, leave, hangUp, options }));
  // Not in raw mode before it is attached: until then Ctrl-C is the only way out.
  const end = await Promise.race([left, joined]);
  if (screen && end.kind !== "ended") await terminal.bytes(Buffer.from(TIDY), "stdout");
  return end;
}

interface JoinOptions {
  readonly terminal: Terminal;
  readonly left: Promise<AttachEnd>;
  leave(end: AttachEnd): void;
  hangUp(): void;
  readonly options: AttachTerminalOptions;
}

async function join(attachment: Attachment, { terminal, left, leave, hangUp, options }: JoinOptions): Promise<AttachEnd> {
  const { screen, greeting = "", redraw = false } = options;
  const ended = attachment.ended.then((status): AttachEnd => (status ? { kind: "ended", status } : { kind: "detached" }));
  try {
    using _raw = screen?.raw();
    if (screen && redraw) attachment.resize(screen.size);
    using _resizing = screen?.onResize((size) => attachment.resize(size));
    if (greeting !== "") attachment.input.write(greeting);
    using _typing = passKeys(terminal.input, attachment, { ...options, leave, hangUp });
    return await Promise.race([left, ended]);
  } finally {
    attachment.detach();
    // Its failure is of no interest to those who have left.
    ended.catch(() => {});
  }
}

interface PassKeysOptions extends Pick<AttachTerminalOptions, "screen" | "detachKeys" | "clock"> {
  leave(end: AttachEnd): void;
  hangUp(): void;
}

/** Reads no faster than the process takes it. */
function passKeys(input: Readable, attachment: Attachment, { screen, detachKeys, clock, leave, hangUp }: PassKeysOptions): Disposable {
  const goOn = () => void input.resume();
  const onKeys = createKeyFilter({
    keys: screen ? detachKeys : new Uint8Array(),
    clock,
    pass(bytes) {
      if (attachment.input.write(bytes)) return;
      input.pause();
      attachment.input.once("drain", goOn);
    },
    detach: () => leave({ kind: "detached" }),
  });
  // A terminal only ends when it goes away; a pipe may well end before the process does.
  const onEnd = () => screen && hangUp();
  // EIO: the terminal is gone.
  const onError = () => hangUp();
  // A process that has closed its input, or ended: what is typed is dropped.
  attachment.input.on("error", () => {});
  input.on("data", onKeys).on("end", onEnd).on("error", onError);
  return {
    [Symbol.dispose]() {
      input.off("data", onKeys).off("end", onEnd).pause();
      attachment.input.off("drain", goOn);
    },
  };
}
