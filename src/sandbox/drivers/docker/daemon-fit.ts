/** @module Whether our holdfastd, which is a program of this machine, runs in containers of an image. */
import { HoldfastError } from "../../../base/errors.ts";
import type { SandboxSpec } from "../../spec.ts";
import type { ImageFacts } from "./containers.ts";

/** As images name what node calls otherwise. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm: "arm", arm64: "arm64", ia32: "386" };

interface DaemonWish {
  readonly daemonProgram: string | null;
  readonly required: boolean;
  /** What the program was built for. */
  readonly architecture?: string;
}

/**
 * Null: every command has to be started by an `exec` of the engine.
 * @throws `daemon-missing` when that is not wanted
 */
export function daemonFor(image: ImageFacts, { daemonProgram, required, architecture = process.arch }: DaemonWish): string | null {
  const fits = image.platform === `linux/${ARCHITECTURES[architecture] ?? architecture}`;
  if (fits && daemonProgram !== null) return daemonProgram;
  if (!required) return null;
  throw new HoldfastError(
    "daemon-missing",
    `terminal.daemon is \`required\`, but holdfastd does not run there: ${whyNot(image, daemonProgram)}`,
    {
      hint: "use an image for this machine's architecture, or set terminal.daemon to auto",
      facts: { platform: image.platform },
    },
  );
}

/** In words for the log: why there is none, and what is lost by it. */
export function describeLoss(image: ImageFacts, { daemonProgram, spec }: { daemonProgram: string | null; spec: SandboxSpec }): string {
  const idle = spec.idleStopSeconds > 0 ? ", and idle_stop_seconds has no effect" : "";
  return `the sandbox runs without holdfastd (${whyNot(image, daemonProgram)}): calls are slow, there are no background processes and no terminals${idle}`;
}

function whyNot({ platform }: ImageFacts, daemonProgram: string | null): string {
  return daemonProgram === null ? "it was not built, or it is turned off" : `the image is for ${platform}`;
}
