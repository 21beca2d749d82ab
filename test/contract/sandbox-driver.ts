/**
 * @module The contract suite of sandbox drivers. A driver's test is one call of `testSandboxDriver`; everything in it goes through the seam,
 * so it makes no difference whether the sandbox's files are the host's.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeIf, type RequirementName } from "../helpers/requirements.ts";
import { isSoak } from "../helpers/soak.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../helpers/temporary-directory.ts";
import { badInputCases } from "./sandbox-driver/bad-input.ts";
import { beginningCases } from "./sandbox-driver/beginnings.ts";
import { concurrencyCases } from "./sandbox-driver/concurrency.ts";
import { directoryCases } from "./sandbox-driver/directories.ts";
import { endingCases } from "./sandbox-driver/endings.ts";
import { fullDiskCases } from "./sandbox-driver/full-disk.ts";
import { habitCases } from "./sandbox-driver/habits.ts";
import type { SandboxDriverSuite, Topic } from "./sandbox-driver/harness.ts";
import { inputCases } from "./sandbox-driver/input.ts";
import { killCases } from "./sandbox-driver/kill.ts";
import { type Cases, openWorkbench, type Workbench, withKit } from "./sandbox-driver/kit.ts";
import { lifeCases } from "./sandbox-driver/life.ts";
import { outputCases } from "./sandbox-driver/output.ts";
import { ownershipCases } from "./sandbox-driver/ownership.ts";
import { pipeCases } from "./sandbox-driver/pipes.ts";
import { sessionCases } from "./sandbox-driver/sessions.ts";
import { shellModeCases } from "./sandbox-driver/shell-modes.ts";
import { spawnCases } from "./sandbox-driver/spawn.ts";
import { troubleCases } from "./sandbox-driver/trouble.ts";
import { variableCases } from "./sandbox-driver/variables.ts";

const TOPICS: Readonly<Record<Topic, Cases>> = {
  ownership: ownershipCases,
  "life of a sandbox": lifeCases,
  spawn: spawnCases,
  pipes: pipeCases,
  kill: killCases,
  sessions: sessionCases,
  variables: variableCases,
  directories: directoryCases,
  "beginnings of calls": beginningCases,
  "ends of calls": endingCases,
  "output of calls": outputCases,
  "input of calls": inputCases,
  "bad input": badInputCases,
  "modes of the shell": shellModeCases,
  "habits of agents": habitCases,
  trouble: troubleCases,
  concurrency: concurrencyCases,
  "full disk": fullDiskCases,
};

const NEEDS: Readonly<Partial<Record<Topic, RequirementName[]>>> = { "full disk": ["mount"] };

const ALL = Object.keys(TOPICS) as Topic[];

export function testSandboxDriver({ name, createHarness, skip = [], topics: chosen = ALL, allBut = [] }: SandboxDriverSuite): void {
  const topics = isSoak ? ALL : chosen.filter((topic) => !allBut.includes(topic));
  describe(`sandbox driver: ${name}`, () => {
    const reasons = new Map(skip.flatMap(({ reason, tests }) => tests.map((title) => [title, reason] as const)));
    let scratch: TemporaryDirectory;
    let workbench: Workbench;
    beforeAll(async () => {
      scratch = await temporaryDirectory();
      workbench = await openWorkbench(createHarness, scratch.path);
    });
    afterAll(async () => {
      await workbench.close();
      await scratch[Symbol.asyncDispose]();
    });

    test("every skip has a reason and names a case", () => {
      const titles = ALL.flatMap((topic) => Object.keys(TOPICS[topic]));
      expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([]);
      expect(unknownSkips(skip, titles)).toEqual([]);
    });

    for (const topic of topics) {
      describeIf(NEEDS[topic] ?? [], topic, () => {
        for (const [title, work] of Object.entries(TOPICS[topic])) {
          const reason = reasons.get(title);
          const shown = reason === undefined ? title : `${title} [${reason}]`;
          test.skipIf(reason !== undefined)(shown, { concurrent: true }, () => withKit(workbench, work));
        }
      });
    }
  });
}

/** Skips that would go unnoticed: without a reason, or of a case that is not there. */
export function unknownSkips(skip: NonNullable<SandboxDriverSuite["skip"]>, titles: readonly string[]): string[] {
  return skip.flatMap(({ reason, tests }) => tests.filter((title) => reason.trim() === "" || !titles.includes(title)));
}
