/** @module Where a board is: in a file, or in a database that has a URL. */

/** What a location must be, to follow "must be". */
export const LOCATION = "a path or the postgres:// URL of a database";

/** Of what `readLocation` gives. */
export function isUrl(location: string): boolean {
  return /^postgres(ql)?:\/\//.test(location);
}

/**
 * A location as it was meant: in a URL neither blanks around it nor the case of its scheme count, and blanks within and a `%` that begins
 * nothing are written so that nobody reads them otherwise.
 */
export function readLocation(location: string): string {
  const url = location.trim().replace(/^postgres(ql)?:\/\//i, (scheme) => scheme.toLowerCase());
  return isUrl(url) ? url.replace(/\s/g, "%20").replace(/%(?![\da-f]{2})/gi, "%25") : location;
}

/**
 * What to do about a location that must not be taken for a path: in the name of an empty board its password would be for all to see.
 * Undefined for one that can be used.
 */
export function misreadLocation(location: string): string | undefined {
  const meant = readLocation(location);
  if (isUrl(meant)) return splitPassword(meant) ? ENCODE : undefined;
  if (CONNECTION_STRING.test(meant)) return `write it as a URL: ${EXAMPLE}`;
  return meant.includes("://") || BEGINS_LIKE_URL.test(meant)
    ? `boards are kept in a file of SQLite, named by its path, or in PostgreSQL: ${EXAMPLE}`
    : undefined;
}

const EXAMPLE = "postgres://USER@HOST/DATABASE";
const ENCODE = "in a user, password or database, write / as %2F, ? as %3F, # as %23 and @ as %40";
/** A path of that form can be written with `./` before it. */
const BEGINS_LIKE_URL = /^\s*(?:[a-z][a-z\d+.-]+:\/|postgres\w*:)/i;
const CONNECTION_STRING = /(?:^|\s)(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode|sslpassword)\s*=/i;

/** A password with one of `/?#` in it ends there, and what follows would be a host, a port or the name of a database. */
function splitPassword(url: string): boolean {
  const [, host = "", path = ""] = /^[^/]*\/\/([^/?#]*)([^?#]*)/.exec(url) ?? [];
  if (host.includes("@")) return false;
  return path.includes("@") || (url.includes("@") && !/^(?:[^:]*|\[[^\]]*\])(?::\d*)?$/.test(host));
}
