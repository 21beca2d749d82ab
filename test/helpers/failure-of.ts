/** @module Failures that come about later. */

/** The error with which `work` fails, while the test goes on and brings it about. Succeeding is returned as a plain text, which fits no error. */
export function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => "it did not fail",
    (error: unknown) => error,
  );
}
