/** @module A real terminal: a window of tmux in which somebody types. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { vi } from "vitest";
import { installProgram, type TestCli } from "./cli.ts";

const run = promisify(execFile);
let opened = 0;

export interface TmuxWindow extends AsyncDisposable {
  /** Types text, then perhaps keys by their tmux names: `Enter`, `C-c`. */
  type(text: string, ...keys: string[]): Promise<void>;
  /** Waits until the window shows it, and returns all that is shown, without blanks at the ends of lines. `colours`: with the sequences that make them. */
  until(shown: string | RegExp, options?: { colours?: boolean }): Promise<string>;
  resize(columns: number, rows: number): Promise<void>;
  /** Takes the window away, as when its user closes it. */
  close(): Promise<void>;
}

/** A shell with the prompt `host$`, in which `holdfast` is the program under test. */
export async function openTmux(cli: TestCli, { columns = 80, rows = 24 } = {}): Promise<TmuxWindow> {
  const socket = `holdfast-test-${process.pid}-${opened++}`;
  const bin = join(cli.directory, "..", "bin");
  await installProgram(bin);
  await writeFile(join(bin, "rc"), "PS1='host$ '\n");
  const env = { ...cli.env, PATH: `${bin}:${cli.env.PATH}`, COLORTERM: "truecolor" };
  const tmux = async (...args: string[]) =>
    (await run("tmux", ["-L", socket, "-f", "/dev/null", ...args], { cwd: cli.directory, env })).stdout;
  const shell = `bash --rcfile '${join(bin, "rc")}' -i`;
  await tmux("new-session", "-d", "-x", String(columns), "-y", String(rows), shell, ";", "set-option", "-g", "status", "off");

  const window: TmuxWindow = {
    async type(text, ...keys) {
      if (text !== "") await tmux("send-keys", "-l", "--", text);
      if (keys.length > 0) await tmux("send-keys", ...keys);
    },
    async until(shown, { colours = false } = {}) {
      let text = "";
      try {
        await vi.waitUntil(
          async () => {
            text = await tmux("capture-pane", "-p", ...(colours ? ["-e"] : []));
            return typeof shown === "string" ? text.includes(shown) : shown.test(text);
          },
          { timeout: 60_000, interval: 50 },
        );
      } catch (error) {
        throw new Error(`the window never showed ${shown}; it shows:\n${text}`, { cause: error });
      }
      return text;
    },
    resize: async (width, height) => void (await tmux("resize-window", "-x", String(width), "-y", String(height))),
    close: async () => void (await tmux("kill-server")),
    async [Symbol.asyncDispose]() {
      // Fails only when it is closed already.
      await tmux("kill-server").catch(() => {});
    },
  };
  await window.until("host$");
  return window;
}
