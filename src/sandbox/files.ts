/** @module The files of a sandbox, for users. */
import type { Readable } from "node:stream";
import type { Abortable } from "./driver.ts";

export interface FileInfo {
  /** The last part of its path. */
  readonly name: string;
  readonly kind: "file" | "directory" | "link" | "other";
  /** Permission bits. */
  readonly mode: number;
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
  /** Where a link points to. */
  readonly target: string | null;
}

export interface ReadFileOptions extends Abortable {
  /**
   * @throws `too-large` beyond it
   * @default 64 MiB
   */
  readonly maxBytes?: number;
}

export interface WriteFileOptions extends Abortable {
  /** @default 0o644 */
  readonly mode?: number;
  /**
   * Makes missing parent directories.
   * @default true
   */
  readonly parents?: boolean;
}

export interface TreeOptions extends Abortable {
  /** @default 4 GiB */
  readonly maxBytes?: number;
  /**
   * Files, directories and links.
   * @default 100,000
   */
  readonly maxEntries?: number;
}

export interface TreeResult {
  readonly entries: number;
  readonly bytes: number;
  /** What was left out and why: sockets, devices, links that lead out of the tree. */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
}

/**
 * Paths are absolute inside the sandbox. Writes are atomic: a reader sees the old file or the new one.
 * All of it @throws `file-not-found`, `file-exists`, `file-failed` (with the fact `systemCode`).
 */
export interface Files {
  read(path: string, options?: ReadFileOptions): Promise<Uint8Array>;
  /** The whole file as a stream, of any size. */
  readStream(path: string, options?: Abortable): Promise<Readable>;
  write(path: string, content: string | Uint8Array | Readable, options?: WriteFileOptions): Promise<void>;
  /** In no order. */
  list(path: string): Promise<FileInfo[]>;
  /** Of a link itself, unless `follow`. */
  stat(path: string, options?: { follow?: boolean }): Promise<FileInfo>;
  /** Absent is success. A directory that is not empty needs `recursive`. Never follows a link. */
  remove(path: string, options?: { recursive?: boolean }): Promise<void>;
  /** With `parents` (default true) a directory that is there is success. */
  mkdir(path: string, options?: { mode?: number; parents?: boolean }): Promise<void>;
  /** Copies what is in the host's directory into the sandbox's, which is made if need be. */
  putTree(hostDirectory: string, path: string, options?: TreeOptions): Promise<TreeResult>;
  /**
   * Copies what is in the sandbox's directory into the host's. The sandbox is not trusted: nothing is written outside
   * `hostDirectory`, also not through links that are there already, and links that lead out of the tree are left out.
   * Files and links of the same name are replaced. Sockets, pipes and devices do not come, which `skipped` does not tell.
   * After a failure, what came before it stays.
   */
  getTree(path: string, hostDirectory: string, options?: TreeOptions): Promise<TreeResult>;
}
