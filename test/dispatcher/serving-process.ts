/** @module A process that dispatches until it is killed, and prints the result of each pass. Arguments: location, name. */
import { systemClock } from "../../src/base/clock.ts";
import { silentLogger } from "../../src/base/log.ts";
import { openStore } from "../../src/board/store.ts";
import { createDispatchService } from "../../src/dispatcher/dispatch-service.ts";
import { createDispatcher } from "../../src/dispatcher/dispatcher.ts";
import { SETTINGS, WORKER } from "./bench.ts";
import { createWorld } from "./model-launcher.ts";

const [location = "", holder = ""] = process.argv.slice(2);
const store = await openStore(location);
const settings = async () => ({ settings: SETTINGS, warnings: [] });
const dispatcher = createDispatcher({
  store,
  launcher: createWorld(store).launcher(holder),
  workspaces: {
    prepare: async ({ id }) => ({ kind: "scratch", path: `/work/${id}`, branch: null }),
    settle: async () => ({ removed: true, kept: null }),
  },
  workers: { settingsOf: async () => WORKER, isolates: async () => false },
  settings,
  holder,
  clock: systemClock,
  log: silentLogger,
});
const onPass = (_: string, result: object) => console.log(JSON.stringify(result));
createDispatchService({ store, dispatcher, settings, clock: systemClock, log: silentLogger, onPass }).start();
// Its own timers keep nobody alive.
process.stdin.resume();
