/** @module What a user of the host who is not root may not do to files that the root of a container has made: a container does it. */
import { HoldfastError } from "../../../base/errors.ts";
import type { Engine } from "./engine.ts";
import { reasonOf } from "./engine-error.ts";
import { ROOT, runHelper } from "./helper-container.ts";

export interface AsRootOptions {
  engine(): Promise<Engine>;
  /** One that the engine has, with a shell. */
  readonly image: string;
}

export interface Errand {
  /** On the host: the only directory that the container sees, and its own. */
  readonly directory: string;
  /** For `sh` there, where it begins. */
  readonly script: string;
  /** Why we could not do it ourselves. */
  readonly denied: HoldfastError;
  /** What else a person can do. */
  readonly hint: string;
}

const INSIDE = "/holdfast-errand";

/** @throws `state-write-failed` when the container cannot do it either */
export async function asRoot({ engine, image }: AsRootOptions, { directory, script, denied, hint }: Errand): Promise<void> {
  const { code, stderr } = await runHelper(await engine(), {
    ...{ image, user: ROOT, argv: ["sh", "-c", `cd ${INSIDE} && ${script}`] },
    capabilities: ["DAC_OVERRIDE", "FOWNER"],
    directories: { [INSIDE]: directory },
  });
  if (code === 0) return;
  throw new HoldfastError("state-write-failed", `${denied.message}, and not with a container of ${image} either: ${reasonOf(stderr)}`, {
    hint,
    facts: { path: directory, image },
    cause: denied,
  });
}
