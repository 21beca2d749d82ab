/** @module The directory of a session, read from its state without a shell: undoes the forms that bash's `%q` writes. */

/** Empty when the state does not begin with a directory. Decoded as bytes, because the escapes stand for bytes. */
export function savedCwd(state: Uint8Array): string {
  const quoted = /^__holdfast_saved_cwd=(.*)\n/.exec(Buffer.from(state).toString("latin1"))?.[1] ?? "";
  const ansi = /^\$'(.*)'$/.exec(quoted)?.[1];
  const bytes =
    ansi === undefined ? quoted.replace(/\\(.)/g, "$1") : ansi.replace(/\\([0-7]{1,3}|.)/g, (_, code: string) => unescapeByte(code));
  return Buffer.from(bytes, "latin1").toString("utf8");
}

const ESCAPES: Readonly<Record<string, string>> = { a: "\x07", b: "\b", E: "\x1b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };

function unescapeByte(code: string): string {
  return /^[0-7]/.test(code) ? String.fromCharCode(Number.parseInt(code, 8)) : (ESCAPES[code] ?? code);
}
