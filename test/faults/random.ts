/** @module Random choices that come again with their seed. */

export interface Random {
  readonly seed: number;
  /** At least 0 and less than 1. */
  next(): number;
  whole(below: number): number;
  pick<T>(from: readonly T[]): T;
}

/** The seed is FAULTS_SEED, to see a failure again, or a new one. */
export function createRandom(seed = Number(process.env.FAULTS_SEED ?? Math.trunc(Math.random() * 2 ** 31))): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (below: number) => Math.floor(next() * below);
  return {
    seed,
    next,
    whole,
    pick: <T>(from: readonly T[]) => from[whole(from.length)] as T,
  };
}
