/** @module Editing config.yaml in the user's own editor, on a copy: what does not pass the checks never counts. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { App } from "../app/create-app.ts";
import { HoldfastError } from "../base/errors.ts";
import { readConfigText, replaceConfigText } from "../config/edit.ts";
import type { Terminal } from "./render.ts";

const TEMPLATE = "# Settings of this profile. `holdfast config list` shows every key.\nterminal:\n";

export async function editConfig(app: App, terminal: Terminal): Promise<void> {
  const { home } = app.profile;
  const before = await readConfigText(home);
  const copy = join(await mkdtemp(join(tmpdir(), "holdfast-config-")), "config.yaml");
  await writeFile(copy, before ?? TEMPLATE, { mode: 0o600 });
  for (;;) {
    await openEditor(editorOf(app), copy);
    const after = await readFile(copy, "utf8");
    if (after === (before ?? TEMPLATE)) {
      terminal.note("nothing was changed");
      break;
    }
    try {
      const { file } = await replaceConfigText(home, { before, after });
      terminal.note(`${file} is saved`);
      break;
    } catch (error) {
      if (!HoldfastError.isInstance(error)) throw error;
      const again = terminal.interactive && /^(y(es)?)?$/i.test(await terminal.ask(`${error.message}. Edit again? [Y/n]`));
      // The work of the user is not thrown away with the refusal.
      if (!again)
        throw new HoldfastError(error.code, error.message, {
          hint: `your version is kept in ${copy}; ${error.hint}`,
          facts: error.facts,
          cause: error,
        });
    }
  }
  await rm(dirname(copy), { recursive: true });
}

function editorOf({ environment }: App): string {
  return environment.VISUAL || environment.EDITOR || "vi";
}

/** The value may hold arguments (`code --wait`), so a shell takes it apart; the path is an argument of its own. */
async function openEditor(editor: string, path: string): Promise<void> {
  const child = spawn("sh", ["-c", `${editor} "$1"`, "sh", path], { stdio: "inherit" });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  if (code !== 0)
    throw new HoldfastError("usage", `the editor ${editor} ended with status ${code}, so nothing was saved`, {
      hint: "set VISUAL or EDITOR to an editor that works here",
    });
}
