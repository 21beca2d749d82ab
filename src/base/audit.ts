/** @module What is written down about the end of sandboxes, so that nobody has to wonder where one went (S31). */

export interface AuditEntry {
  readonly what: "removed" | "stopped" | "cleared";
  /** The backend's own name for it, or a path. */
  readonly sandbox: string;
  readonly backend: string;
  readonly profile: string;
  readonly task: string;
  readonly reason: string;
  /** It was tried, and this is why it did not work. */
  readonly error?: string;
}

export type Audit = (entry: AuditEntry) => void;
