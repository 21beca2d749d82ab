/** @module "Did you mean": the nearest of a few known names. */

// Further away than this, a guess confuses more than it helps.
const FARTHEST = 3;

/** The candidate that `input` most likely stands for, or undefined when none is near. */
export function suggest(input: string, candidates: Iterable<string>): string | undefined {
  const wanted = input.toLowerCase();
  // One slip in three characters at most: "up" is not a misspelt "ls".
  const limit = Math.min(FARTHEST, Math.floor(wanted.length / 3));
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance <= limit && (best === undefined || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate;
}

/** `did you mean "x"?`, or undefined when no candidate is near. */
export function didYouMean(input: string, candidates: Iterable<string>): string | undefined {
  const candidate = suggest(input, candidates);
  return candidate === undefined ? undefined : `did you mean "${candidate}"?`;
}

/** How many insertions, deletions, replacements and swaps of neighbours turn `a` into `b`. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = at(last, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      let cheapest = Math.min(replaced, at(last, column) + 1, at(current, column - 1) + 1);
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cheapest = Math.min(cheapest, at(beforeLast, column - 2) + 1);
      current.push(cheapest);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
