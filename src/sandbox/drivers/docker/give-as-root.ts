/** @module Giving directories of the host to the user of a container, which a user of the host who is not root may not. */
import { lstatSync } from "node:fs";
import { describeError } from "../../../base/errors.ts";
import type { Logger } from "../../../base/log.ts";
import type { UserIds } from "./container-user.ts";
import type { Engine } from "./engine.ts";
import { reasonOf } from "./engine-error.ts";
import { type HelperContainer, ROOT, runHelper } from "./helper-container.ts";
import { HOME_MODE, type Place, WORKSPACE_MODE } from "./place.ts";

export interface GiverOptions {
  engine(): Promise<Engine>;
  readonly log: Logger;
  /** Of this process. */
  readonly self?: number | undefined;
}

/** The workspace and the home, before a container of the image runs as that user. Where that fails they stay open to all users in it. */
export type GiveKept = (place: Place, user: UserIds, image: string) => Promise<void>;

const INSIDE = "/holdfast-given";

export function createGiver({ engine, log, self = process.getuid?.() }: GiverOptions): GiveKept {
  return async (place, user, image) => {
    // Root gets everywhere as it is, and the root of the host gives them away itself when the container's user is seen.
    if (self === undefined || [0, self].includes(user.uid) || self === 0) return;
    const kept = [
      { path: place.workspace, inside: `${INSIDE}/workspace`, mode: WORKSPACE_MODE },
      { path: place.home, inside: `${INSIDE}/home`, mode: HOME_MODE },
    ].filter(({ path }) => lstatSync(path).uid !== user.uid);
    if (kept.length === 0) return;
    const script = kept
      .map(({ inside, mode }) => `chown ${user.uid}:${user.gid} ${inside} && chmod ${mode.toString(8)} ${inside}`)
      .join(" && ");
    const helper: HelperContainer = {
      ...{ image, user: ROOT, argv: ["sh", "-c", script] },
      capabilities: ["CHOWN", "FOWNER", "DAC_OVERRIDE"],
      directories: Object.fromEntries(kept.map(({ path, inside }) => [inside, path])),
    };
    const failed = await runHelper(await engine(), helper).then(
      ({ code, stderr }) => (code === 0 ? null : reasonOf(stderr)),
      (error: unknown) => describeError(error),
    );
    if (failed === null) return;
    log.warn("workspace and home stay open to all users in the container: they could not be given to its own", { why: failed, image });
  };
}
