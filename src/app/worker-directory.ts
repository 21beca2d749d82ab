/** @module What each profile runs (K4). A changed configuration counts at the next look, without reading all of them each time (K26). */
import { statSync } from "node:fs";
import { parseDuration } from "../base/duration.ts";
import { systemCode } from "../base/errors.ts";
import { configFiles, type LoadedConfig } from "../config/load.ts";
import type { WorkerDirectory, WorkerSettings } from "../dispatcher/worker.ts";
import { isBeingDeleted } from "../profiles/deleting.ts";
import type { App } from "./create-app.ts";

export interface ProfileConfigs extends WorkerDirectory {
  /** Null: there is no such profile. @throws when it cannot be read */
  configOf(profile: string): Promise<LoadedConfig | null>;
}

export function createProfileConfigs(app: App): ProfileConfigs {
  const known = new Map<string, { readonly stamp: string; readonly config: LoadedConfig }>();

  const configOf = async (name: string): Promise<LoadedConfig | null> => {
    const profile = (await app.profiles.list()).find((each) => each.name === name);
    if (profile === undefined) return null;
    const stamp = stampOf(profile.home);
    const cached = known.get(name);
    if (cached?.stamp === stamp) return cached.config;
    const config = await (await app.forProfile(name)).config();
    known.set(name, { stamp, config });
    return config;
  };

  return {
    configOf,
    async settingsOf(profile) {
      if (isBeingDeleted(app.profiles.home(profile))) return null;
      const config = await configOf(profile);
      return config === null ? null : workerSettings(config);
    },
    async isolates(profile) {
      const config = await configOf(profile);
      return config !== null && (await isolatesWorkers(app, config));
    },
  };
}

export function workerSettings({ values: { worker } }: LoadedConfig): WorkerSettings {
  const { command, sandbox, env, max_runtime: limit, skills, vision, accepts_from_sandboxes: acceptsFromSandboxes } = worker;
  const maxRuntimeMs = limit === null ? null : parseDuration("worker.max_runtime", limit);
  return { command, sandbox, env, maxRuntimeMs, skills, vision, acceptsFromSandboxes };
}

/** A sandbox on a backend that shares the host's files is the host. */
export async function isolatesWorkers(app: App, { values: { worker, terminal } }: LoadedConfig): Promise<boolean> {
  return worker.sandbox !== "none" && (await app.driverNamed(terminal.backend)).capabilities.isolatesFiles;
}

/** Changes with the files. */
function stampOf(home: string): string {
  const { config, env } = configFiles(home);
  return [config, env].map(stamp).join(" ");
}

function stamp(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${mtimeMs}:${size}:${ino}`;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return "none";
    throw error;
  }
}
