/** @module The settings of each pass: read anew, told when they change, and the last good ones while they cannot be read (K26). */
import { describeError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import type { ReadSettings } from "./settings.ts";
import { createTroubleReport } from "./trouble-report.ts";

/** @throws what kept the very first ones from being read */
export function createSettingsSource(read: () => Promise<ReadSettings>, log: Logger): () => Promise<ReadSettings> {
  const troubles = createTroubleReport();
  let good: ReadSettings | undefined;

  return async () => {
    let current: ReadSettings;
    try {
      current = await read();
    } catch (error) {
      if (good === undefined) throw error;
      const trouble = describeError(error);
      if (troubles.begins("settings", trouble)) log.error(`the settings cannot be read, so the last ones stay in force: ${trouble}`);
      return good;
    }
    if (troubles.ends("settings")) log.info("the settings can be read again");
    tell(log, good, current);
    good = current;
    return current;
  };
}

function tell(log: Logger, before: ReadSettings | undefined, { settings, warnings }: ReadSettings): void {
  if (JSON.stringify(before?.settings) !== JSON.stringify(settings)) {
    log.info(before === undefined ? "dispatching with these settings" : "the settings have changed", {
      default_assignee: settings.defaultAssignee,
      max_in_progress_per_profile: settings.maxPerProfile,
      max_in_progress: settings.maxInProgress,
      max_spawn: settings.maxSpawn,
      settings,
    });
  }
  for (const warning of warnings) if (!before?.warnings.includes(warning)) log.warn(warning);
}
