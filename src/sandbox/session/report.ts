/** @module What the shell of a call says about itself, in a file beside the command's own output. */

/** Begins the reason why the state could not be saved. */
export const UNSAVED = "unsaved: ";

export type ShellReport =
  | { kind: "made" | "started" | "no-session" | "damaged" | "bad-cwd" }
  | { kind: "read-only"; name: string }
  | { kind: "ended"; cwd: string; recovered: { from: string; to: string } | null; unsaved: string | null };

/** Null when the shell said nothing at all: it was never started or could not write. */
export function parseReport(bytes: Uint8Array | null): ShellReport | null {
  const [kind, cwd = "", from = "", to = "", saved = ""] = Buffer.from(bytes ?? [])
    .toString("utf8")
    .split("\0");
  switch (kind) {
    case "made":
    case "started":
    case "no-session":
    case "damaged":
    case "bad-cwd":
      return { kind };
    case "read-only":
      return { kind, name: cwd };
    case "ended":
      return { kind, cwd, recovered: from ? { from, to } : null, unsaved: saved.startsWith(UNSAVED) ? saved.slice(UNSAVED.length) : null };
    default:
      return null;
  }
}
