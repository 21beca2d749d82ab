/** @module Editing config.yaml in the user's own editor, on a copy: what does not pass the checks never counts. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { App } from "../app/create-app.ts";
import { spawnChild } from "../base/child.ts";
import { describeError, HoldfastError } from "../base/errors.ts";
import { readConfigText, replaceConfigText } from "../config/edit.ts";
import { ignoreCtrlC } from "./interrupt.ts";
import type { Terminal } from "./render.ts";

const TEMPLATE = "# Settings of this profile. `holdfast config list` shows every key.\nterminal:\n";

export async function editConfig(app: App, terminal: Terminal): Promise<void> {
  const { home } = app.profile;
  const before = await readConfigText(home);
  const given = before ?? TEMPLATE;
  const folder = await mkdtemp(join(tmpdir(), "holdfast-config-"));
  const copy = join(folder, "config.yaml");
  await writeFile(copy, given, { mode: 0o600 });
  for (;;) {
    const problem = await openEditor(editorOf(app), copy);
    const after = await readFile(copy, "utf8");
    const changed = after !== given;
    const refusal = problem ?? (changed ? await save(home, { before, after }) : null);
    if (refusal && changed && (await wantsAnotherTry(refusal, terminal))) continue;
    // What the user wrote is not thrown away with the refusal.
    if (refusal && changed) throw kept(refusal, copy);
    await rm(folder, { recursive: true });
    if (refusal) throw refusal;
    terminal.note(changed ? "config.yaml is saved" : "nothing was changed");
    return;
  }
}

/** Null when it was saved. */
async function save(home: string, texts: { before: string | undefined; after: string }): Promise<HoldfastError | null> {
  try {
    await replaceConfigText(home, texts);
    return null;
  } catch (error) {
    if (HoldfastError.isInstance(error)) return error;
    throw error;
  }
}

async function wantsAnotherTry(refusal: HoldfastError, terminal: Terminal): Promise<boolean> {
  // Somebody else's change would be refused again and again.
  if (refusal.code === "config-changed" || !terminal.interactive) return false;
  return /^(y(es)?)?$/i.test(await terminal.ask(`${refusal.message}. Edit again? [Y/n]`));
}

function kept({ code, message, hint, facts, cause }: HoldfastError, copy: string): HoldfastError {
  return new HoldfastError(code, message, { hint: `your version is kept in ${copy}: ${hint}`, facts: { ...facts, copy }, cause });
}

function editorOf({ environment }: App): string {
  return environment.VISUAL || environment.EDITOR || "vi";
}

/** The value may hold arguments (`code --wait`), so a shell takes it apart; the path is an argument of its own. */
async function openEditor(editor: string, path: string): Promise<HoldfastError | null> {
  using _ = ignoreCtrlC();
  const child = spawnChild("sh", ["-c", `${editor} "$1"`, "sh", path], { stdio: "inherit" });
  const end = await new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(`could not be started: ${describeError(error)}`));
    child.once("exit", (code, signal) => resolve(code === 0 ? "" : `ended with ${signal ?? `status ${code}`}`));
  });
  if (end === "") return null;
  return new HoldfastError("aborted", `the editor ${editor} ${end}, so nothing was saved`, {
    hint: "set VISUAL or EDITOR to an editor that works here",
  });
}
