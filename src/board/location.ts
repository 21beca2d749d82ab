/** @module Where a board is: in a file, or in a database that has a URL. */

export function isUrl(location: string): boolean {
  return /^postgres(ql)?:\/\//.test(location);
}
