/** @module The caller's terminal as a screen and a keyboard: its size, and keys as they are typed. */
import type { Readable, Writable } from "node:stream";
import type { TerminalSize } from "../sandbox/process.ts";
import type { Terminal } from "./render.ts";

/** Of terminals that do not tell. */
export const USUAL_SIZE: TerminalSize = { rows: 24, columns: 80 };

export interface Screen {
  readonly size: TerminalSize;
  /** Until disposed. */
  onResize(listener: (size: TerminalSize) => void): Disposable;
  /** Until disposed, every key arrives as it is typed, none of them means anything here, and output is shown as it is. */
  raw(): Disposable;
}

export type KeyInput = Readable & { isTTY?: boolean; fd?: number; setRawMode?: (raw: boolean) => unknown };

export type ScreenOutput = Writable & { isTTY?: boolean; columns?: number; rows?: number };

/** Null unless both input and output are a terminal. */
export function openScreen({ ends }: Terminal): Screen | null {
  const { input, output } = ends;
  if (!input.isTTY || !output.isTTY || !input.setRawMode) return null;
  // Of a terminal without a size, both are 0.
  const size = () => ({ rows: output.rows || USUAL_SIZE.rows, columns: output.columns || USUAL_SIZE.columns });
  return {
    get size() {
      return size();
    },
    onResize(listener) {
      const tell = () => listener(size());
      output.on("resize", tell);
      return { [Symbol.dispose]: () => void output.off("resize", tell) };
    },
    raw() {
      input.setRawMode?.(true);
      showOutputAsItIs(input.fd);
      return { [Symbol.dispose]: () => void input.setRawMode?.(false) };
    },
  };
}

/**
 * Node's raw mode still lets the terminal return to the first column at each line feed, where full-screen programs only mean one line down.
 * Leaving raw mode puts back all that was set before. Without stty it stays as it is, which such programs mostly survive.
 */
function showOutputAsItIs(terminal: number | undefined): void {
  if (terminal === undefined) return;
  // Loaded only now: few calls of the program need it.
  const children = process.getBuiltinModule("node:child_process");
  children.spawnSync("stty", ["-opost"], { stdio: [terminal, "ignore", "ignore"] });
}
