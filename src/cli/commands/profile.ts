/** @module holdfast profile: named identities with their own home. */
import { profileCreate } from "../../app/operations/profile-create.ts";
import { profileList } from "../../app/operations/profile-list.ts";
import { profileShow } from "../../app/operations/profile-show.ts";
import { profileUse } from "../../app/operations/profile-use.ts";
import { addHelpNotes, addSubverb, type RegisterVerb } from "../verb.ts";

export const register: RegisterVerb = (command, { runner }) => {
  addHelpNotes(command.usage("[options] <verb>"), {
    examples: [
      ["holdfast profile create reviewer", "a home of its own, with its own settings, secrets and sandboxes"],
      ["holdfast exec -p reviewer -- pwd", "be that profile for one call"],
      ["holdfast profile use reviewer", "be it from now on"],
    ],
  });

  const list = addSubverb(command, "list", "list the profiles")
    .alias("ls")
    .action(() =>
      runner.run(list, async ({ app, terminal, flags }) => {
        const profiles = await profileList.run(app, {});
        if (flags.json) return terminal.json(profiles);
        terminal.table(
          ["", "PROFILE", "HOME"],
          profiles.map(({ name, home, active }) => [active ? "*" : "", name, home]),
        );
      }),
    );
  addHelpNotes(list, { examples: [["holdfast profile list", "the one with a * counts now"]] });

  const create = addSubverb(command, "create", "make a profile")
    .argument("<name>", "a-z, 0-9, _ and -, at most 64")
    .option("--clone-from <profile>", "take over the settings of another one (no secrets, no sandboxes)")
    .action((name: string) =>
      runner.run(create, async ({ app, terminal, flags }) => {
        const cloneFrom = flags.cloneFrom as string | undefined;
        const made = await profileCreate.run(app, cloneFrom === undefined ? { name } : { name, cloneFrom });
        if (flags.json) return terminal.json(made);
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
        terminal.fact("home", profile.home);
        terminal.fact("configured", profile.configured.join(", ") || "nothing, all defaults");
        terminal.fact("sandboxes", profile.sandboxes.join(", ") || "none");
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
};
