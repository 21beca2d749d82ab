/**
 * @module Passwords taken out of text that people or files get: those of URLs, in every form that libpq knows, and of its `key=value`
 * strings. A password may hold anything, so where its end is not certain, too much is taken and never too little.
 * Texts may be long and hostile, so what is looked for again from each place has a limit.
 */

const HIDDEN = "***";
/** What is secret among the parameters of libpq. `passfile` and `sslkey` only name files. */
const SECRET = String.raw`\w*password|oauth_client_secret|scram_(?:client|server)_key`;
const SECRET_PARAMETER = new RegExp(`^(?:${SECRET})$`, "i");
/** Nearly all texts hold none of these, and are not looked at any closer. */
const WORTH_A_LOOK = /:\/|postgres|password|oauth_client_secret|scram_/i;
/** One slash, or none after `postgres:`, is a slip of the hand whose password is no less secret. */
const URLS = /\b([a-z][a-z\d+.-]{1,30}:\/\/?|postgres\w*:)(\S+)/gi;
/** What is neither a port nor ends in an `@` before the next blank goes on after it. */
const BLANKS =
  /\b(?!https?:)(?:[a-z][a-z\d+.-]{1,30}:\/\/?|postgres\w*:)[^\s:/?#@]*:(?!\d*(?:[/?#\s]|$)|\*{3})[^\s@]{1,2000}[^\S\n][^\n@]{0,2000}@/gi;
/** As a sentence goes on after a value. */
const AFTERWARDS = /["'`)\]},;:.]{0,8}$/;
const VALUE = String.raw`'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|(?:[^\s\\]|\\.)+`;
const ASSIGNMENT = new RegExp(String.raw`(?<![\w/.?&])((?:${SECRET})\s*=\s*)(${VALUE})`, "gis");
/** What stands beside a password in a `key=value` string that says where a database is, and not in a line of a program. */
const PLACE = String.raw`(?:host(?:addr)?|port|dbname|user|service|sslmode)\s*=`;
const OTHERS = String.raw`(?:\w+\s*=\s*[^\s,]+\s+)*`;
const PLACE_BEFORE = new RegExp(String.raw`(?<![\w/.?&])${PLACE}\s*[^\s,]+\s+${OTHERS}$`, "i");
const PLACE_AFTER = new RegExp(String.raw`^\s+${OTHERS}${PLACE}`, "i");
const NEARBY = 500;

export function withoutPassword(text: string): string {
  if (!WORTH_A_LOOK.test(text)) return text;
  return cleanUrls(text).replace(ASSIGNMENT, (_, name: string, value: string) => name + hide(value));
}

/** The same of a value: if it is a URL, that is all of it, and blanks do not end its password. */
export function urlWithoutPassword(value: string): string {
  const url = /^\s*[a-z][a-z\d+.-]+:/i.test(value) ? value.trim().replace(/\s/g, "%20") : value;
  return holdsPassword(url) ? withoutPassword(url) : withoutPassword(value);
}

/** The same of every text in lists and plain objects, however deep. */
export function withoutPasswords<T>(value: T, clean: (text: string) => string = withoutPassword): T {
  return changed(value, clean) as T;
}

/** Whether something in the text names a database together with its password. */
export function holdsPassword(text: string): boolean {
  if (!WORTH_A_LOOK.test(text)) return false;
  return cleanUrls(text) !== text || [...text.matchAll(ASSIGNMENT)].some((found) => isOfDatabase(found, text));
}

function isOfDatabase({ 0: { length }, 2: value, index }: RegExpExecArray, text: string): boolean {
  if (value?.startsWith(HIDDEN)) return false;
  const after = index + length;
  return PLACE_BEFORE.test(text.slice(Math.max(0, index - NEARBY), index)) || PLACE_AFTER.test(text.slice(after, after + NEARBY));
}

function changed(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === "string") return clean(value);
  if (Array.isArray(value)) return value.map((item) => changed(item, clean));
  if (typeof value !== "object" || value === null || !isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, changed(item, clean)]));
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function cleanUrls(text: string): string {
  const whole = text.replace(BLANKS, (url) => url.replace(/\s/g, "%20"));
  return whole.replace(URLS, (_, scheme: string, rest: string) => scheme + cleanRest(rest, /^https?:/i.test(scheme)));
}

/**
 * What follows the scheme. In a URL of the web nobody can write a `/` into a password as it is; in one of a database people do, so there the
 * login reaches to the last `@`.
 */
function cleanRest(rest: string, web: boolean): string {
  const colon = rest.indexOf(":");
  const at = (web ? (/^[^/?#]*/.exec(rest)?.[0] ?? "") : rest).lastIndexOf("@");
  if (rest.startsWith("/") || colon < 0 || at < colon) return cleanParameters(rest);
  const [before, after] = [rest.slice(0, colon + 1), rest.slice(at + 1)];
  const login = rest.slice(colon + 1, at);
  // Then the `@` may as well be one of the parameter's password, and what follows it the rest of that.
  if (cleanParameters(`${login}@`) !== `${login}@`) return before + HIDDEN + (/&.*$/.exec(cleanParameters(after))?.[0] ?? "");
  return `${before}${HIDDEN}@${cleanParameters(after)}`;
}

function cleanParameters(rest: string): string {
  return rest.replace(/([?&])([^=&?]*)=([^&]*)/g, (whole, separator: string, name: string, value: string) =>
    SECRET_PARAMETER.test(decoded(name)) ? `${separator}${name}=${hide(value)}` : whole,
  );
}

function hide(value: string): string {
  return /^['"]/.test(value) ? HIDDEN : HIDDEN + (AFTERWARDS.exec(value)?.[0] ?? "");
}

/** libpq knows `pass%77ord`, too. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    // URIError: then it is no name that libpq knows.
    return name;
  }
}
