/** @module What the shell of a call says about itself, in a file beside the command's own output. */
import { savedCwd } from "./saved-cwd.ts";

/** Begins the reason why the state could not be saved. */
export const UNSAVED = "unsaved: ";

export type ShellReport =
  | { kind: "made" | "started" | "no-session" | "damaged" | "bad-cwd" }
  | { kind: "read-only"; name: string }
  | { kind: "ended"; cwd: string; recovered: { from: string; to: string } | null; unsaved: string | null };

/** Null when the shell said nothing at all: it was never started or could not write. */
export function parseReport(bytes: Uint8Array | null): ShellReport | null {
  if (bytes === null) return null;
  // The state itself, which a shell that can write nothing leaves here.
  const cwd = savedCwd(bytes);
  if (cwd) return { kind: "ended", cwd, recovered: null, unsaved: "its shell could write to no file" };
  const [kind, ...rest] = Buffer.from(bytes).toString("utf8").split("\0");
  switch (kind) {
    case "started":
      return parseEnd(rest) ?? { kind };
    case "made":
    case "no-session":
    case "damaged":
    case "bad-cwd":
      return { kind };
    case "read-only":
      return { kind, name: rest[0] ?? "" };
    default:
      return null;
  }
}

/** Null unless it is whole: the command may have done anything to its shell. */
function parseEnd([kind, cwd, from, to = "", saved, end]: string[]): ShellReport | null {
  if (kind !== "ended" || !cwd || saved === undefined || end === undefined) return null;
  return { kind, cwd, recovered: from ? { from, to } : null, unsaved: saved.startsWith(UNSAVED) ? saved.slice(UNSAVED.length) : null };
}
