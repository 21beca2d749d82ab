/** @module holdfast profile rename, delete, export and import: profiles that go somewhere, or away. */
import type { Command } from "commander";
import type { App } from "../../app/create-app.ts";
import { type DeletedProfile, profileDelete, whatRunsUnder } from "../../app/operations/profile-delete.ts";
import { exportArchive, profileExport } from "../../app/operations/profile-export.ts";
import { profileImport } from "../../app/operations/profile-import.ts";
import { profileRename } from "../../app/operations/profile-rename.ts";
import { HoldfastError } from "../../base/errors.ts";
import { firstFew } from "../../base/first-few.ts";
import { parseProfileName } from "../../base/names.ts";
import type { Terminal } from "../render.ts";
import { addHelpNotes, addSubverb, type VerbRunner } from "../verb.ts";

export function addMovingVerbs(command: Command, { runner }: { runner: VerbRunner }): void {
  addRename(command, runner);
  addDelete(command, runner);
  addExport(command, runner);
  addImport(command, runner);
}

function addRename(command: Command, runner: VerbRunner): void {
  const rename = addSubverb(command, "rename", "give a profile another name")
    .argument("<profile>", "its name")
    .argument("<name>", "the new one: a-z, 0-9, _ and -, at most 64")
    .option("--remove-sandboxes", "end and remove its sandboxes first, instead of taking them along")
    .action((from: string, to: string) =>
      runner.run(rename, async ({ app, terminal, flags }) => {
        const result = await profileRename.run(app, { from, to, removeSandboxes: flags.removeSandboxes === true });
        if (flags.json) return terminal.json(result);
        terminal.note(`profile ${result.from} is now ${result.name}, in ${result.home}`);
        if (result.followed.length > 0) terminal.note(`its sandboxes came along: ${result.followed.join(", ")}`);
        if (result.removed.length > 0) terminal.note(`its sandboxes are gone: ${result.removed.join(", ")}`);
        if (result.sticky) terminal.note(`it is still the choice of \`holdfast profile use\``);
        if (result.reassigned > 0) terminal.note(`tasks that are now assigned to ${result.name}: ${result.reassigned}`);
        for (const key of result.stillNamed)
          terminal.warn(`${key} still says ${result.from}; change it with \`holdfast config set ${key} …\` in the profile default`);
        warnOfVariable(app, result.from, terminal);
      }),
    );
  addHelpNotes(rename, {
    examples: [
      ["holdfast profile rename reviewer critic", "sandboxes on the host come along; while a container exists, it is refused"],
      ["holdfast profile rename reviewer critic --remove-sandboxes", "with none of them"],
    ],
  });
}

function addDelete(command: Command, runner: VerbRunner): void {
  const remove = addSubverb(command, "delete", "delete a profile: end what runs under it, remove its sandboxes and its home")
    .alias("rm")
    .argument("<profile>", "its name")
    .option("--confirm <profile>", "its name once more, instead of typing it when asked")
    .option("-f, --force", "also when its sandboxes cannot be reached: they are left")
    .action((input: string) =>
      runner.run(remove, async ({ app, terminal, flags }) => {
        const { name } = await app.profiles.checkRemove(input);
        await confirm(name, { app, terminal, given: flags.confirm as string | undefined });
        const result = await profileDelete.run(app, { name, force: flags.force === true });
        if (flags.json) return terminal.json(result);
        showDeleted(result, terminal);
        warnOfVariable(app, result.name, terminal);
      }),
    );
  addHelpNotes(remove, {
    examples: [
      ["holdfast profile delete reviewer", "asks for its name"],
      ["holdfast profile delete reviewer --confirm reviewer", "in a script"],
    ],
  });
}

function addExport(command: Command, runner: VerbRunner): void {
  const exporting = addSubverb(command, "export", "write a profile into an archive, without secrets")
    .argument("<profile>", "its name")
    .option("-o, --output <file>", "where to, - for standard output; without it, NAME.tar.gz in the current directory")
    .option("-f, --force", "replace a file that is there")
    .action((name: string) =>
      runner.run(exporting, async ({ app, terminal, flags }) => {
        if (flags.output === "-") {
          if (flags.json)
            throw new HoldfastError("usage", "--json and the archive cannot both go to standard output", { hint: "name a file with -o" });
          const { archive, leftOut } = await exportArchive(app, name);
          tell(leftOut, terminal, "not in the archive");
          return await terminal.bytes(archive, "stdout");
        }
        const file = (flags.output as string | undefined) ?? `${parseProfileName(name)}.tar.gz`;
        const result = await profileExport.run(app, { name, file, force: flags.force === true });
        if (flags.json) return terminal.json(result);
        tell(result.leftOut, terminal, "not in the archive");
        terminal.note(`profile ${result.name} is in ${result.file}: ${result.files.join(", ")}`);
      }),
    );
  addHelpNotes(exporting, {
    examples: [
      ["holdfast profile export reviewer", "settings, SOUL.md, description, skills, and the names of its secrets"],
      ["holdfast profile export reviewer -o - | ssh host 'cat > reviewer.tar.gz'", "to another machine"],
    ],
  });
}

function addImport(command: Command, runner: VerbRunner): void {
  const importing = addSubverb(command, "import", "make a profile from an archive")
    .argument("<archive>", "a file that `holdfast profile export` made")
    .option("--name <name>", "what to call it; without it, as it was called where it comes from")
    .action((file: string) =>
      runner.run(importing, async ({ app, terminal, flags }) => {
        const name = flags.name as string | undefined;
        const result = await profileImport.run(app, name === undefined ? { file } : { file, name });
        if (flags.json) return terminal.json(result);
        tell(result.leftOut, terminal, "left out of the archive");
        for (const warning of result.warnings) terminal.warn(warning);
        terminal.note(`profile ${result.name} is in ${result.home}; its .env is empty`);
        if (result.configured.length > 0)
          terminal.note(`it sets ${result.configured.join(", ")}; look at them with \`holdfast config list --changed -p ${result.name}\``);
      }),
    );
  addHelpNotes(importing, {
    examples: [
      ["holdfast profile import reviewer.tar.gz --name critic", "its secrets are for you to fill in; their names are in .env.example"],
    ],
  });
}

/** @throws `usage` where nobody can be asked, `invalid-input` for another name, `aborted` when the name was not typed */
async function confirm(name: string, { app, terminal, given }: { app: App; terminal: Terminal; given: string | undefined }): Promise<void> {
  if (given !== undefined) {
    if (parseProfileName(given) === name) return;
    throw new HoldfastError("invalid-input", `--confirm names ${parseProfileName(given)}, but ${name} is to be deleted`, {
      hint: "write the same name twice",
      facts: { profile: name },
    });
  }
  if (!terminal.interactive)
    throw new HoldfastError("usage", `deleting profile ${name} has to be confirmed`, { hint: `repeat the command with --confirm ${name}` });
  const { ending, sandboxes, assigned } = await whatRunsUnder(app, name);
  if (ending.length > 0)
    terminal.warn(
      `${counted(ending, "task is", "tasks are")} being worked on under profile ${name}, and that would be ended: ${firstFew(ending)}`,
    );
  if (assigned.length > 0) terminal.warn(`${stillAssigned(assigned, name)}; nobody would work on ${assigned.length === 1 ? "it" : "them"}`);
  const boxes = sandboxes.length === 0 ? "" : `, its sandboxes (${firstFew(sandboxes)}) and all that runs in them`;
  const answer = await terminal.ask(`This removes the home of profile ${name} with its secrets${boxes}. Type its name to go on:`);
  if (answer.trim().toLowerCase() === name) return;
  throw new HoldfastError("aborted", `profile ${name} was not deleted: its name was not typed`, { hint: "nothing was changed" });
}

function showDeleted({ name, ended, sandboxes, left, assigned, wasSticky }: DeletedProfile, terminal: Terminal): void {
  if (ended.length > 0) terminal.note(`the work on ${ended.length === 1 ? "this task" : "these tasks"} was ended: ${firstFew(ended)}`);
  if (sandboxes.length > 0) terminal.note(`its sandboxes are gone: ${firstFew(sandboxes)}`);
  for (const what of left) terminal.warn(`left behind: ${what}`);
  terminal.note(`profile ${name} is gone`);
  if (assigned.length > 0) terminal.warn(`${stillAssigned(assigned, name)}; ${howToReassign(assigned, name)}`);
  if (wasSticky) terminal.note("it was the choice of `holdfast profile use`; from now on default counts");
}

function counted(tasks: readonly string[], one: string, several: string): string {
  return `${tasks.length} ${tasks.length === 1 ? one : several}`;
}

function stillAssigned(tasks: readonly string[], profile: string): string {
  return `${counted(tasks, "unfinished task is", "unfinished tasks are")} assigned to profile ${profile}: ${firstFew(tasks)}`;
}

/** The verb takes one task at a time, which is no help for many. */
function howToReassign([first = "", ...others]: readonly string[], profile: string): string {
  if (others.length === 0) return `\`holdfast kanban assign ${first} PROFILE\` gives it to another`;
  const unfinished = `holdfast kanban list --assignee ${profile} --flat | awk '/^t_/ && $2 != "done" { print $1 }'`;
  return `this gives all of a board to another: ${unfinished} | xargs -I ID holdfast kanban assign ID PROFILE`;
}

function tell(leftOut: readonly { path: string; reason: string }[], terminal: Terminal, where: string): void {
  for (const { path, reason } of leftOut) terminal.warn(`${where}: ${path}, because ${reason}`);
}

function warnOfVariable({ environment }: App, name: string, terminal: Terminal): void {
  if (environment.HOLDFAST_PROFILE?.trim().toLowerCase() === name)
    terminal.warn(`HOLDFAST_PROFILE still says ${name}, so commands fail here until you change or unset it`);
}
