import { expect, test } from "vitest";
import { createTestApp } from "../../test/helpers/test-app.ts";
import { createLogger } from "../base/log.ts";
import { createSplitter } from "./splitter.ts";
import { createProfileConfigs } from "./worker-directory.ts";

test("S50 a model without a name is told once, not with each pass, and again when it is another trouble", async () => {
  await using made = await createTestApp({ config: { "model.base_url": "http://127.0.0.1:1" } });
  const { app } = made;
  const warnings: string[] = [];
  const log = createLogger({ clock: app.clock, level: "warn", sink: ({ message }) => void warnings.push(message) });
  const known = createProfileConfigs(app);
  let begun = 0;
  let refused: Error | null = null;
  const configs = {
    ...known,
    async configOf(profile: string) {
      begun++;
      if (refused) throw refused;
      return known.configOf(profile);
    },
  };
  const splitter = createSplitter(app, { configs, log });
  /** One begins only when the one before it has ended. */
  const passes = async (more: number) => {
    const last = begun + more;
    const began = () => {
      splitter.begin("default");
      return begun;
    };
    await expect.poll(began, { interval: 1 }).toBeGreaterThanOrEqual(last);
  };
  await passes(5);
  expect(warnings).toEqual([
    expect.stringMatching(/^tasks in triage could not be split up: model\.base_url is set, but model\.name is not/),
  ]);
  refused = new Error("no such home");
  await passes(3);
  refused = null;
  await passes(3);
  await splitter.close();
  expect(warnings.map((warning) => warning.replace(/^.*split up: /, "").slice(0, 14))).toEqual([
    "model.base_url",
    "no such home",
    "model.base_url",
  ]);
});
