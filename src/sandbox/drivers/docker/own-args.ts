/** @module Refuses a user's own arguments for `run` that would take a container out of our hands. */
import { HoldfastError } from "../../../base/errors.ts";
import { splitShortFlags } from "./short-flags.ts";

/** By them a container is found again, seen to its end, and told from a half-made one. */
const OURS = new Set(["--cidfile", "--rm", "--detach", "-d", "--detach-keys", "--pull", "--sig-proxy", "--replace"]);
const LABELS = new Set(["--label", "-l"]);

/** @throws `config-bad-value`, naming the argument */
export function refuseOwnArgs(given: readonly string[], { labelPrefix }: { labelPrefix: string }): void {
  const args = splitShortFlags(given);
  for (const [index, text] of args.entries()) {
    const [flag = "", attached] = split(text);
    if (OURS.has(flag)) throw refusal(flag, "Holdfast sets it itself");
    if (flag === "--name" && !(attached ?? args[index + 1])) throw refusal(flag, "it has no value");
    if (flag === "--label-file") throw refusal(flag, "a file could hold labels that say whose a container is");
    if (LABELS.has(flag) && (attached ?? args[index + 1] ?? "").startsWith(`${labelPrefix}-`))
      throw refusal(`${flag} ${labelPrefix}-…`, "these labels say whose a container is");
  }
  const [first] = args;
  if (first !== undefined && !first.startsWith("-")) throw refusal(first, "it is no option, so it would be taken for the image");
}

/** The name that they give to a container, of several the last as with the engine, and the arguments without it. */
export function takeName(args: readonly string[]): { name: string | null; others: string[] } {
  let name: string | null = null;
  const others: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const text = args[index] ?? "";
    const [flag, attached] = split(text);
    if (flag !== "--name") others.push(text);
    else name = attached ?? args[++index] ?? null;
  }
  return { name, others };
}

/** `--flag=value` */
function split(text: string): [string, string | undefined] {
  const equals = text.indexOf("=");
  return equals < 0 ? [text, undefined] : [text.slice(0, equals), text.slice(equals + 1)];
}

function refusal(argument: string, why: string): HoldfastError {
  return new HoldfastError("config-bad-value", `${argument} cannot be in docker_extra_args: ${why}`, {
    hint: "take it out of terminal.docker_extra_args",
    facts: { key: "terminal.docker_extra_args", argument },
  });
}
