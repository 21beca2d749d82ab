/** @module What the tests of a suite share: opened before them, given up behind them. */
import { beforeAll, beforeEach } from "vitest";

/** One for all tests of the suite that asks for it. What `open` gives is a plain object; this one is empty until the tests begin. */
export function forSuite<T extends AsyncDisposable>(open: () => Promise<T>): T {
  const shared = {} as T;
  beforeAll(() => fill(shared, open));
  return shared;
}

/** The same, but a new one for each test. */
export function forEachTest<T extends AsyncDisposable>(open: () => Promise<T>): T {
  const shared = {} as T;
  beforeEach(() => fill(shared, open));
  return shared;
}

async function fill<T extends AsyncDisposable>(shared: T, open: () => Promise<T>): Promise<() => PromiseLike<void>> {
  const opened = await open();
  Object.assign(shared, opened);
  return () => opened[Symbol.asyncDispose]();
}
