/** @module Settings of the boards that name a profile. */
import { DEFAULT_PROFILE } from "../base/names.ts";
import { readSettings } from "../dispatcher/settings.ts";
import type { App } from "./create-app.ts";

/** Their keys. All profiles share the boards, so these settings are those of `default`. */
export async function settingsNaming(app: App, profile: string): Promise<string[]> {
  const shared = app.profile.name === DEFAULT_PROFILE ? app : await app.forProfile(DEFAULT_PROFILE);
  const { kanban } = (await shared.config()).values;
  const { defaultAssignee, profiles } = readSettings(kanban).settings;
  const named = {
    "kanban.default_assignee": defaultAssignee === profile,
    "kanban.dispatch_profiles": profiles?.includes(profile) === true,
    "kanban.orchestrator_profile": kanban.orchestrator_profile.trim().toLowerCase() === profile,
  };
  return Object.entries(named).flatMap(([key, found]) => (found ? [key] : []));
}
