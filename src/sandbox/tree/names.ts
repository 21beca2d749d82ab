/** @module Which names and link targets of an archive are safe below a directory of the host. */
import { protocolError } from "../daemon/wire.ts";

const LONGEST_PART = 255;
const LONGEST_PATH = 4_095;
/** What stands for bytes that are no UTF-8. */
const REPLACEMENT = "\uFFFD";

export interface EntryName {
  /** None of them empty, `.` or `..`; none at all for the root itself. */
  readonly parts: readonly string[];
  /** Some bytes of it are lost. */
  readonly garbled: boolean;
}

/** @throws `protocol` for a name that no honest archive has */
export function readName(name: string): EntryName {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  const bad =
    name.startsWith("/") ||
    name.includes("\0") ||
    parts.includes("..") ||
    Buffer.byteLength(name) > LONGEST_PATH ||
    parts.some((part) => Buffer.byteLength(part) > LONGEST_PART);
  if (bad) throw protocolError(`an archive with the name ${JSON.stringify(name.slice(0, 200))}`);
  return { parts, garbled: name.includes(REPLACEMENT) };
}

/**
 * Why a link may not be made, or null. Only leading `..` are allowed: the directories above the link are real ones, but a name in its
 * target may be another link, and what `..` behind that means is not to be seen from the text.
 */
export function refuseTarget(link: readonly string[], target: string): string | null {
  if (target === "") return "it points nowhere";
  if (target.includes("\0") || target.includes(REPLACEMENT) || Buffer.byteLength(target) > LONGEST_PATH)
    return "where it points to is no valid name";
  if (target.startsWith("/")) return `it leads out of the tree, to ${target}`;
  const parts = target.split("/").filter((part) => part !== "" && part !== ".");
  const names = parts.findIndex((part) => part !== "..");
  const ups = names < 0 ? parts.length : names;
  if (ups > link.length - 1) return `it leads out of the tree, to ${target}`;
  if (parts.lastIndexOf("..") >= ups) return `it leads through other names and back, to ${target}`;
  return null;
}
