/** @module holdfast completion: scripts that teach a shell our verbs, flags and values. */
import { Argument } from "commander";
import { BASH_COMPLETION } from "../completion/bash.ts";
import { FISH_COMPLETION } from "../completion/fish.ts";
import { ZSH_COMPLETION } from "../completion/zsh.ts";
import { unknownChoice } from "../usage.ts";
import { addHelpNotes, type RegisterVerb } from "../verb.ts";

const SCRIPTS = { bash: BASH_COMPLETION, fish: FISH_COMPLETION, zsh: ZSH_COMPLETION };
type Shell = keyof typeof SCRIPTS;
const SHELLS = Object.keys(SCRIPTS) as Shell[];

export const register: RegisterVerb = (command, { terminal }) => {
  // Without the app: whatever is wrong with a profile or its configuration is no obstacle to typing.
  command
    .addArgument(new Argument("<shell>", "the shell that shall read the script").choices(SHELLS).argParser(parseShell))
    .action((shell: Shell) => terminal.line(SCRIPTS[shell].trimEnd()));
  addHelpNotes(command, {
    examples: [
      ["source <(holdfast completion bash)", "in ~/.bashrc"],
      ["source <(holdfast completion zsh)", "in ~/.zshrc, after compinit"],
      ["holdfast completion fish > ~/.config/fish/completions/holdfast.fish", "once"],
    ],
  });
};

function parseShell(word: string): Shell {
  const shell = SHELLS.find((name) => name === word);
  if (shell !== undefined) return shell;
  throw unknownChoice("the shell", word, SHELLS);
}
