/** @module The contract suite of the board's store. A database's test is one call of `testBoardStore`. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeIf, type RequirementName } from "../helpers/requirements.ts";
import { boardCases } from "./board-store/boards.ts";
import { claimCases } from "./board-store/claims.ts";
import { concurrencyCases } from "./board-store/concurrency.ts";
import { copyCases } from "./board-store/copies.ts";
import { dispatchCases } from "./board-store/dispatch.ts";
import { fromSandboxCases } from "./board-store/from-sandbox.ts";
import { historyCases } from "./board-store/histories.ts";
import { type BoardStoreHarness, type Cases, withKit } from "./board-store/kit.ts";
import { moveCases } from "./board-store/moves.ts";
import { planCases } from "./board-store/plans.ts";
import { removalCases } from "./board-store/removals.ts";
import { timeCases } from "./board-store/times.ts";

export interface BoardStoreSuite {
  readonly name: string;
  readonly needs?: RequirementName[];
  readonly createHarness: () => Promise<BoardStoreHarness>;
  /** How long the harness may take to come up. @default 60000 */
  readonly startLimitMs?: number;
  /** Why there are no cases of several connections. */
  readonly alone?: string;
}

const TOPICS: Readonly<Record<string, Cases>> = {
  "boards and tasks": boardCases,
  moves: moveCases,
  claims: claimCases,
  "plans and ideas": planCases,
  times: timeCases,
  dispatch: dispatchCases,
  "from sandboxes": fromSandboxCases,
  "removals and numbers": removalCases,
  copies: copyCases,
  "several connections": concurrencyCases,
  histories: historyCases,
};

const HISTORIES_LIMIT_MS = 180_000;

export function testBoardStore({ name, needs = [], createHarness, startLimitMs = 60_000, alone }: BoardStoreSuite): void {
  describeIf(needs, `board store: ${name}`, () => {
    let harness: BoardStoreHarness;
    beforeAll(async () => {
      harness = await createHarness();
    }, startLimitMs);
    afterAll(() => harness?.[Symbol.asyncDispose]());

    for (const [topic, cases] of Object.entries(TOPICS)) {
      const reason = cases === concurrencyCases ? alone : undefined;
      describe(reason === undefined ? topic : `${topic} [${reason}]`, () => {
        for (const [title, work] of Object.entries(cases)) {
          test.skipIf(reason !== undefined)(title, { timeout: HISTORIES_LIMIT_MS }, () => withKit(harness, work));
        }
      });
    }

    test("K25 after all of that, the check finds nothing wrong", async () => expect(await harness.store.check()).toEqual([]));
  });
}
