/** @module Which profile counts: flag > `HOLDFAST_PROFILE` > the choice of `profile use` > `default` (K3). */
import { HoldfastError, wrapError } from "../base/errors.ts";
import { DEFAULT_PROFILE } from "../base/names.ts";
import type { ProfileInfo, Profiles } from "./profiles.ts";

export interface SelectedProfile extends ProfileInfo {
  readonly chosenBy: "flag" | "variable" | "use" | "default";
}

export async function selectProfile(
  profiles: Profiles,
  { flag, variable }: { flag: string | undefined; variable: string | undefined },
): Promise<SelectedProfile> {
  if (flag !== undefined) return { ...(await profiles.find(flag)), chosenBy: "flag" };
  if (variable !== undefined && variable.trim() !== "") return { ...(await named(profiles, variable, BY_VARIABLE)), chosenBy: "variable" };
  const sticky = await profiles.sticky();
  if (sticky !== null) return { ...(await named(profiles, sticky, BY_USE)), chosenBy: "use" };
  return { ...(await profiles.find(DEFAULT_PROFILE)), chosenBy: "default" };
}

interface Origin {
  readonly source: string;
  /** A command that does not fail for the very reason it is needed. */
  readonly wayOut: string;
}

const BY_VARIABLE: Origin = {
  source: "HOLDFAST_PROFILE",
  wayOut: `\`holdfast profile list --profile ${DEFAULT_PROFILE}\` shows the existing ones`,
};
const BY_USE: Origin = {
  source: "`holdfast profile use`",
  wayOut: `\`holdfast profile use NAME --profile ${DEFAULT_PROFILE}\` chooses another one`,
};

/** Says where a bad name comes from: nobody typed it on this command line. */
async function named(profiles: Profiles, name: string, { source, wayOut }: Origin): Promise<ProfileInfo> {
  try {
    return await profiles.find(name);
  } catch (error) {
    const { code, message, hint, facts } = wrapError(error, "internal", "cannot select a profile");
    const meant = hint.startsWith("did you mean") ? `${hint} ` : "";
    throw new HoldfastError(code, `${message} (chosen by ${source})`, { hint: meant + wayOut, facts, cause: error });
  }
}
