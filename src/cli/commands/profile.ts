/** @module holdfast profile: named identities with their own home. */
import { profileCreate } from "../../app/operations/profile-create.ts";
import { profileDescribe } from "../../app/operations/profile-describe.ts";
import { profileList } from "../../app/operations/profile-list.ts";
import { profileShow } from "../../app/operations/profile-show.ts";
import { profileUse } from "../../app/operations/profile-use.ts";
import { HoldfastError } from "../../base/errors.ts";
import { addHelpNotes, addSubverb, type RegisterVerb } from "../verb.ts";
import { addMovingVerbs } from "./profile-moving.ts";

export const register: RegisterVerb = (command, { runner }) => {
  addHelpNotes(command.usage("[options] <verb>"), {
    examples: [
      ["holdfast profile create reviewer", "a home of its own, with its own settings, secrets and sandboxes"],
      ["holdfast exec -p reviewer -- pwd", "be that profile for one call"],
      ["holdfast profile use reviewer", "be it from now on"],
      ["holdfast profile export reviewer", "into reviewer.tar.gz, without secrets"],
    ],
  });

  const list = addSubverb(command, "list", "list the profiles")
    .alias("ls")
    .action(() =>
      runner.run(list, async ({ app, terminal, flags }) => {
        const profiles = await profileList.run(app, {});
        if (flags.json) return terminal.json(profiles);
        terminal.table(
          ["", "PROFILE", "HOME", "DESCRIPTION"],
          profiles.map(({ name, home, active, description }) => [active ? "*" : "", name, home, description ?? ""]),
        );
      }),
    );
  addHelpNotes(list, { examples: [["holdfast profile list", "the one with a * counts now"]] });

  const create = addSubverb(command, "create", "make a profile")
    .argument("<name>", "a-z, 0-9, _ and -, at most 64")
    .option("--clone-from <profile>", "take over settings, description and skills of another one (no secrets, no sandboxes)")
    .action((name: string) =>
      runner.run(create, async ({ app, terminal, flags }) => {
        const cloneFrom = flags.cloneFrom as string | undefined;
        const made = await profileCreate.run(app, cloneFrom === undefined ? { name } : { name, cloneFrom });
        if (flags.json) return terminal.json(made);
        for (const { path, reason } of made.leftOut) terminal.warn(`not taken over: ${path}, because ${reason}`);
        terminal.note(`profile ${made.name} is in ${made.home}`);
      }),
    );
  addHelpNotes(create, {
    examples: [["holdfast profile create reviewer --clone-from default", "same settings, own secrets and sandboxes"]],
  });

  const show = addSubverb(command, "show", "show a profile")
    .argument("[profile]", "its name; without it, the one that counts now")
    .action((name: string | undefined) =>
      runner.run(show, async ({ app, terminal, flags }) => {
        const profile = await profileShow.run(app, name === undefined ? {} : { name });
        if (flags.json) return terminal.json(profile);
        terminal.fact("profile", `${profile.name}${profile.active ? ` (active, by ${profile.chosenBy})` : ""}`);
        if (profile.description !== null) terminal.fact("description", profile.description);
        terminal.fact("home", profile.home);
        terminal.fact("configured", profile.configured.join(", ") || "nothing, all defaults");
        terminal.fact("sandboxes", profile.sandboxes.join(", ") || "none");
        for (const warning of profile.warnings) terminal.warn(warning);
      }),
    );
  addHelpNotes(show, { examples: [["holdfast profile show reviewer", "home, changed settings, sandboxes"]] });

  const use = addSubverb(command, "use", "choose the profile that counts from now on")
    .argument("<profile>", "its name")
    .action((name: string) =>
      runner.run(use, async ({ app, terminal, flags }) => {
        const chosen = await profileUse.run(app, { name });
        if (flags.json) return terminal.json(chosen);
        terminal.note(`profile ${chosen.name} counts from now on`);
      }),
    );
  addHelpNotes(use, { examples: [["holdfast profile use reviewer", "unless --profile or HOLDFAST_PROFILE says otherwise"]] });

  const describe = addSubverb(command, "describe", "read or change what a profile says about itself")
    .argument("<profile>", "its name")
    .argument("[text]", "one line about what it is for; without it, the present one is printed")
    .option("--clear", "take the description away")
    .action((name: string, text: string | undefined) =>
      runner.run(describe, async ({ app, terminal, flags }) => {
        const change = changeOf(text, flags.clear === true);
        const result = await profileDescribe.run(app, { name, ...change });
        if (flags.json) return terminal.json(result);
        if (change.description === undefined && result.description !== null) return terminal.line(result.description);
        const state = result.description === null ? "has no description" : "is described";
        terminal.note(`profile ${result.name} ${state}`);
      }),
    );
  addHelpNotes(describe, {
    examples: [
      ["holdfast profile describe reviewer 'reads what others wrote'", "shown by list and show"],
      ["holdfast profile describe reviewer", "print it"],
      ["holdfast profile describe reviewer --clear", "take it away"],
    ],
  });

  addMovingVerbs(command, { runner });
};

/** Nothing when the description is only to be read. */
function changeOf(text: string | undefined, clear: boolean): { description?: string | null } {
  if (clear && text !== undefined)
    throw new HoldfastError("usage", "a description is either given or taken away", { hint: "leave out the text, or --clear" });
  if (clear) return { description: null };
  return text === undefined ? {} : { description: text };
}
