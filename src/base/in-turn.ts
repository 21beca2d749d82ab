/** @module One after the other, whoever comes first. */

export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

export function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work, work);
    // Whoever waits for the result hears of a failure; the next in line only waits for its end.
    last = result.catch(() => {});
    return result;
  };
}
