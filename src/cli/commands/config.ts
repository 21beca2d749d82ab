/** @module holdfast config: reading and changing the configuration of a profile. */
import { configExplain } from "../../app/operations/config-explain.ts";
import { configGet } from "../../app/operations/config-get.ts";
import { configImportHermes } from "../../app/operations/config-import-hermes.ts";
import { configList } from "../../app/operations/config-list.ts";
import { configPath } from "../../app/operations/config-path.ts";
import { configSet } from "../../app/operations/config-set.ts";
import { configUnset } from "../../app/operations/config-unset.ts";
import { urlWithoutPassword, withoutPasswords } from "../../base/without-password.ts";
import { editConfig } from "../edit-config.ts";
import { addHelpNotes, addSubverb, type RegisterVerb } from "../verb.ts";

export const register: RegisterVerb = (command, { runner }) => {
  addHelpNotes(command.usage("[options] <verb>"), {
    examples: [
      ["holdfast config list", "every key, its value and where that comes from"],
      ["holdfast config set terminal.timeout 600", "in the profile's config.yaml"],
      ["TERMINAL_TIMEOUT=600 holdfast exec -- make", "by variable, for one call"],
      ["holdfast -c terminal.timeout=600 exec -- make", "by flag, for one call"],
    ],
  });

  const get = addSubverb(command, "get", "print a value")
    .argument("<key>", "for example terminal.timeout")
    .action((key: string) =>
      runner.run(get, async ({ app, terminal, flags }) => {
        const found = await configGet.run(app, { key });
        const value = withoutPasswords(found.value, urlWithoutPassword);
        if (flags.json) return terminal.json({ ...found, value });
        if (value !== null) terminal.line(shown(value));
      }),
    );
  addHelpNotes(get, { examples: [["holdfast config get terminal.backend", "the value that counts now"]] });

  const set = addSubverb(command, "set", "set a key in the profile's config.yaml")
    .argument("<key>", "for example terminal.timeout")
    .argument("<value>", "lists and maps as JSON")
    .action((key: string, value: string) =>
      runner.run(set, async ({ app, terminal, flags }) => {
        const result = await configSet.run(app, { key, value });
        if (flags.json) return terminal.json(result);
        terminal.note(result.changed ? `${key} is set in ${result.file}` : `${result.file} already says so`);
        if (result.hiddenBy !== null) terminal.warn(`it has no effect here, because ${result.hiddenBy} decides`);
        for (const warning of result.warnings) terminal.warn(warning);
      }),
    );
  addHelpNotes(set, {
    examples: [
      ["holdfast config set terminal.timeout 600", "comments and order of the file stay"],
      [`holdfast config set terminal.docker_env '{"DEBUG":"1"}'`, "a map"],
    ],
  });

  const unset = addSubverb(command, "unset", "take a key out of the profile's config.yaml")
    .argument("<key>", "for example terminal.timeout")
    .action((key: string) =>
      runner.run(unset, async ({ app, terminal, flags }) => {
        const result = await configUnset.run(app, { key });
        if (flags.json) return terminal.json(result);
        terminal.note(result.changed ? `${key} is no longer set in ${result.file}` : `${key} was not set in ${result.file}`);
      }),
    );
  addHelpNotes(unset, { examples: [["holdfast config unset terminal.timeout", "back to the next source, or the default"]] });

  const list = addSubverb(command, "list", "list every key")
    .alias("ls")
    .option("--changed", "only those that are not at their default")
    .action(() =>
      runner.run(list, async ({ app, terminal, flags }) => {
        const entries = await configList.run(app, { changed: flags.changed === true });
        if (flags.json) return terminal.json(entries);
        terminal.table(
          ["KEY", "VALUE", "FROM"],
          entries.map(({ key, value, source }) => [key, shown(value), source]),
        );
      }),
    );
  addHelpNotes(list, { examples: [["holdfast config list --changed", "what differs from the defaults, and where"]] });

  const explain = addSubverb(command, "explain", "show where a value comes from")
    .argument("<key>", "for example terminal.timeout")
    .action((key: string) =>
      runner.run(explain, async ({ app, terminal, flags }) => {
        const entry = await configExplain.run(app, { key });
        if (flags.json) return terminal.json(entry);
        terminal.fact("key", entry.key);
        terminal.fact("value", shown(entry.value));
        terminal.fact("from", entry.source);
        for (const { value, source } of entry.shadowed) terminal.fact("hides", `${shown(value)} (${source})`);
        terminal.fact("meaning", entry.help);
        terminal.fact("variable", entry.variable);
      }),
    );
  addHelpNotes(explain, { examples: [["holdfast config explain terminal.timeout", "the source, and what it hides"]] });

  const importHermes = addSubverb(command, "import-hermes", "take over the settings of a Hermes home; what is set here already stays")
    .argument("[dir]", "by default HERMES_HOME, else ~/.hermes")
    .action((directory?: string) =>
      runner.run(importHermes, async ({ app, terminal, flags }) => {
        const result = await configImportHermes.run(app, directory === undefined ? {} : { directory });
        if (flags.json) return terminal.json(result);
        for (const { key, source } of result.taken) terminal.line(`took ${key} from ${source}`);
        for (const what of result.left) terminal.line(`left ${what}`);
        terminal.note(
          result.taken.length === 0 ? `nothing was changed in ${result.file}` : `${result.taken.length} settings are in ${result.file} now`,
        );
      }),
    );
  addHelpNotes(importHermes, { examples: [["holdfast config import-hermes", "says line by line what it took, and what not and why"]] });

  const path = addSubverb(command, "path", "print where config.yaml is").action(() =>
    runner.run(path, async ({ app, terminal, flags }) => {
      const files = await configPath.run(app, {});
      if (flags.json) return terminal.json(files);
      terminal.line(files.config);
    }),
  );
  addHelpNotes(path, { examples: [["holdfast config path --json", "also the path of .env"]] });

  const edit = addSubverb(command, "edit", "edit config.yaml in your editor; it is checked before it counts", { json: false }).action(() =>
    runner.run(edit, ({ app, terminal }) => editConfig(app, terminal)),
  );
  addHelpNotes(edit, { examples: [["EDITOR=nano holdfast config edit", "uses VISUAL, then EDITOR, then vi"]] });
};

/** Text as it is, everything else as JSON; nothing for a value that is not set. */
function shown(value: unknown): string {
  if (value === null) return "(not set)";
  return typeof value === "string" ? value : JSON.stringify(value);
}
