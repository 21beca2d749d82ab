/** @module The cases of the dispatcher, run on one database. */
import { afterAll, beforeAll, describe, test } from "vitest";
import { describeIf, type RequirementName } from "../helpers/requirements.ts";
import { openBench } from "./bench.ts";
import { bucketCases } from "./cases-buckets.ts";
import { assigneeCases, capCases } from "./cases-routing.ts";
import { safetyCases } from "./cases-safety.ts";
import { trustCases } from "./cases-trust.ts";

export interface DispatcherSuite {
  readonly name: string;
  readonly needs?: RequirementName[];
  readonly startLimitMs?: number;
  /** Gives the location of a new and empty database each time. */
  readonly open: () => Promise<AsyncDisposable & { next(): Promise<string> }>;
}

const TOPICS = { buckets: bucketCases, "default assignee": assigneeCases, caps: capCases, safety: safetyCases, trust: trustCases };

export function testDispatcher({ name, needs = [], startLimitMs = 60_000, open }: DispatcherSuite): void {
  describeIf(needs, `dispatcher: ${name}`, () => {
    let databases: Awaited<ReturnType<typeof open>>;
    beforeAll(async () => {
      databases = await open();
    }, startLimitMs);
    afterAll(() => databases?.[Symbol.asyncDispose]());

    for (const [topic, cases] of Object.entries(TOPICS)) {
      describe(topic, () => {
        for (const [title, work] of Object.entries(cases)) {
          test(title, async () => {
            await using bench = await openBench({ location: await databases.next() });
            await work(bench);
          });
        }
      });
    }
  });
}
