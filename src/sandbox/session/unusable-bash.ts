/** @module What it means that a sandbox cannot start bash, in which every command runs. */
import { HoldfastError } from "../../base/errors.ts";

/** The errors of `execve`, as Linux numbers them. */
const PROBLEMS: Readonly<Record<number, string>> = {
  2: "has no bash, in which every command runs",
  8: "is for another architecture: its bash cannot run here",
};

/** Any other failure as it is. `image`: what the sandbox was made from, where that is known. */
export function explainUnusableBash(error: unknown, image: string | undefined): unknown {
  if (!HoldfastError.isInstance(error) || error.code !== "spawn-failed") return error;
  const problem = PROBLEMS[Number(error.facts.errno)];
  if (problem === undefined) return error;
  const what = image === undefined ? "the sandbox" : `the image ${image}`;
  return new HoldfastError("spawn-failed", `${what} ${problem}`, {
    hint: "use an image with a bash that runs here (terminal.docker_image), then make the sandbox anew with `holdfast sandbox reset`",
    facts: { ...error.facts, ...(image !== undefined && { image }) },
    cause: error,
  });
}
