/** @module Splits up what is in triage, beside the passes of the dispatcher: a model takes its time. */
import { describeError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import type { LoadedConfig } from "../config/load.ts";
import { createTroubleReport } from "../dispatcher/trouble-report.ts";
import { autoDecompose } from "./auto-decompose.ts";
import type { App } from "./create-app.ts";
import type { ProfileConfigs } from "./worker-directory.ts";

export interface Splitter {
  /** At most one question at a time. */
  begin(board: string): void;
  close(): Promise<void>;
}

export function createSplitter(app: App, { configs, log }: { configs: ProfileConfigs; log: Logger }): Splitter {
  let busy = false;
  const troubles = createTroubleReport();
  let current: { readonly config: LoadedConfig | null; readonly app: App } | undefined;

  /** With the settings as they are now (K26). */
  const ownApp = async (): Promise<App> => {
    const config = await configs.configOf(app.profile.name);
    if (current === undefined || current.config !== config) {
      await current?.app.close();
      current = { config, app: await app.forProfile(app.profile.name) };
    }
    return current.app;
  };
  const split = async (board: string) => {
    const own = await ownApp();
    const { auto_decompose_per_tick: limit } = (await own.kanban()).options;
    for (const { task, children, error } of await autoDecompose(own, board, { limit })) {
      if (error === null) log.info(`${task} was split up into ${children.join(", ") || "nothing but itself"}`);
      else log.warn(`${task} could not be split up: ${error}`);
    }
  };

  return {
    begin(board) {
      // One at a time, so that nobody closes the app under another.
      if (busy) return;
      busy = true;
      split(board)
        .then(
          () => troubles.ends(board),
          (error: unknown) => {
            const trouble = describeError(error);
            if (troubles.begins(board, trouble)) log.warn(`tasks in triage could not be split up: ${trouble}`);
          },
        )
        .finally(() => {
          busy = false;
        });
    },
    async close() {
      await current?.app.close();
    },
  };
}
