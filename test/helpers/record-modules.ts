/** @module Preloaded into a program under test (`node --import`): writes down which modules it has loaded when it ends. */
import { writeFileSync } from "node:fs";
import { registerHooks } from "node:module";

const target = process.env.RECORD_MODULES_TO;
if (target !== undefined) {
  const loaded: string[] = [];
  registerHooks({
    load(url, context, next) {
      loaded.push(url);
      return next(url, context);
    },
  });
  process.on("exit", () => writeFileSync(target, JSON.stringify(loaded)));
}
