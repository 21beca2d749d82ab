/** @module The seam between the files that users see and the ways to reach them. */
import type { Readable } from "node:stream";
import { HoldfastError } from "../base/errors.ts";
import type { Abortable } from "./driver.ts";
import type { FileInfo } from "./files.ts";

export type Content = string | Uint8Array | Readable;

export interface WriteOptions extends Abortable {
  readonly content: Content;
  readonly mode: number;
  readonly parents: boolean;
}

/** Input has been checked, and defaults are filled in. */
export interface FileTransport {
  read(path: string, options: Abortable & { readonly maxBytes: number }): Promise<Uint8Array>;
  /** Rejects when the file cannot be opened. */
  readStream(path: string, options: Abortable): Promise<Readable>;
  write(path: string, options: WriteOptions): Promise<void>;
  list(path: string): Promise<FileInfo[]>;
  stat(path: string, options: { readonly follow: boolean }): Promise<FileInfo>;
  remove(path: string, options: { readonly recursive: boolean }): Promise<void>;
  mkdir(path: string, options: { readonly mode: number; readonly parents: boolean }): Promise<void>;
}

export function fileTooLarge(path: string, maxBytes: number): HoldfastError {
  return new HoldfastError("too-large", `${path} is larger than ${maxBytes} bytes`, {
    hint: "raise maxBytes, or read it as a stream",
    facts: { path, maxBytes },
  });
}
