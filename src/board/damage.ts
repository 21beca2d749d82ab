/** @module What the words of `check` say about the file. Without the database, so that whoever only reads them need not load it. */

/** Of what `check` says: the file itself is damaged, which no repair mends. */
export function isDamage(text: string): boolean {
  return /^the board in .* is damaged: /s.test(text);
}

/** Indexes are made anew, and rows that point nowhere are not of the file. */
export function isMendable(text: string): boolean {
  return /\bindex\b|^row \d+ of /.test(text);
}
