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
  if (variable !== undefined && variable.trim() !== "")
    return { ...(await named(profiles, variable, "HOLDFAST_PROFILE")), chosenBy: "variable" };
  const sticky = await profiles.sticky();
  if (sticky !== null) return { ...(await named(profiles, sticky, "`holdfast profile use`")), chosenBy: "use" };
  return { ...(await profiles.find(DEFAULT_PROFILE)), chosenBy: "default" };
}

/** Says where a bad name comes from: nobody typed it on this command line. */
async function named(profiles: Profiles, name: string, source: string): Promise<ProfileInfo> {
  try {
    return await profiles.find(name);
  } catch (error) {
    const { code, message, hint, facts } = wrapError(error, "internal", "cannot select a profile");
    throw new HoldfastError(code, `${message} (chosen by ${source})`, { hint, facts, cause: error });
  }
}
