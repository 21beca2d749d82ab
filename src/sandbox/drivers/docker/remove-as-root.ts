/** @module Removing what the root of a container has made, which a user of the host who is not root may not. */
import { HoldfastError } from "../../../base/errors.ts";
import { randomId } from "../../../base/ids.ts";
import { removeTree } from "../../../base/remove-tree.ts";
import type { Engine } from "./engine.ts";
import { reasonOf } from "./engine-error.ts";
import { mountArgs } from "./mounts.ts";

/** Absent is success. */
export type RemoveTree = (path: string) => Promise<void>;

export interface TreeRemoverOptions {
  engine(): Promise<Engine>;
  /** One that the engine has, with a shell. */
  readonly image: string;
}

const LIMIT_MS = 60_000;
const INSIDE = "/holdfast-gone";
const EMPTY = `cd ${INSIDE} && rm -rf -- ..?* .[!.]* *`;

/** First as ourselves; what that is not allowed to, a container that sees nothing but this directory is. */
export function createTreeRemover({ engine, image }: TreeRemoverOptions): RemoveTree {
  const empty = async (path: string, denied: HoldfastError): Promise<void> => {
    const hardening = ["--network", "none", "--cap-drop", "ALL", "--cap-add", "DAC_OVERRIDE", "--cap-add", "FOWNER"];
    const args = [
      ...["run", "--rm", "--pull", "never", "--name", `holdfast-clear-${randomId(8)}`, "--user", "0:0", ...hardening],
      ...mountArgs({ source: path, target: INSIDE, readOnly: false }),
      ...["--entrypoint", "sh", image, "-c", EMPTY],
    ];
    const { code, stderr } = await (await engine()).run(args, { limitMs: LIMIT_MS });
    if (code === 0) return;
    throw new HoldfastError("state-write-failed", `${denied.message}, and not with a container of ${image} either: ${reasonOf(stderr)}`, {
      hint: `remove ${path} as root`,
      facts: { path, image },
      cause: denied,
    });
  };
  return async (path) => {
    try {
      await removeTree(path);
    } catch (error) {
      if (!isDenied(error)) throw error;
      await empty(path, error);
      await removeTree(path);
    }
  };
}

function isDenied(error: unknown): error is HoldfastError {
  return HoldfastError.isInstance(error) && (error.facts.systemCode === "EACCES" || error.facts.systemCode === "EPERM");
}
