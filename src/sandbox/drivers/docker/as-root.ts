/** @module What a user of the host who is not root may not do to files that the root of a container has made: a container does it. */
import { HoldfastError } from "../../../base/errors.ts";
import { randomId } from "../../../base/ids.ts";
import type { Engine } from "./engine.ts";
import { reasonOf } from "./engine-error.ts";
import { mountArgs } from "./mounts.ts";

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

const LIMIT_MS = 60_000;
const INSIDE = "/holdfast-errand";

/** @throws `state-write-failed` when the container cannot do it either */
export async function asRoot({ engine, image }: AsRootOptions, { directory, script, denied, hint }: Errand): Promise<void> {
  const hardening = ["--network", "none", "--cap-drop", "ALL", "--cap-add", "DAC_OVERRIDE", "--cap-add", "FOWNER"];
  const args = [
    ...["run", "--rm", "--pull", "never", "--name", `holdfast-errand-${randomId(8)}`, "--user", "0:0", ...hardening],
    ...mountArgs({ source: directory, target: INSIDE, readOnly: false }),
    ...["--entrypoint", "sh", image, "-c", `cd ${INSIDE} && ${script}`],
  ];
  const { code, stderr } = await (await engine()).run(args, { limitMs: LIMIT_MS });
  if (code === 0) return;
  throw new HoldfastError("state-write-failed", `${denied.message}, and not with a container of ${image} either: ${reasonOf(stderr)}`, {
    hint,
    facts: { path: directory, image },
    cause: denied,
  });
}
