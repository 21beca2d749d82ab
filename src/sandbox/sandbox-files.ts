/** @module The files of a sandbox, for users: through the daemon in it, or else through small programs. */
import { throwIfAborted } from "../base/abort.ts";
import { HoldfastError } from "../base/errors.ts";
import type { DaemonAccess } from "./daemon/daemon.ts";
import {
  asReadable,
  listDirectory,
  makeDirectory,
  openFile,
  openTree,
  removeFile,
  statFile,
  unpackTree,
  writeFile,
} from "./daemon/files.ts";
import type { DaemonLink } from "./daemon/link.ts";
import type { Connection } from "./driver.ts";
import { guardInput } from "./feed.ts";
import { checkContent, checkFileOptions, checkPath } from "./file-input.ts";
import { type FileTransport, fileTooLarge } from "./file-transport.ts";
import type { Files } from "./files.ts";
import { createShellFiles } from "./shell-files.ts";
import { packTree } from "./tree/pack.ts";
import { unpackArchive } from "./tree/unpack.ts";

const MAX_BYTES = 64 * 1024 * 1024;
const FILE_MODE = 0o644;
const DIRECTORY_MODE = 0o755;

export function createSandboxFiles(connection: Connection): Files {
  const { daemon } = connection;
  const files = daemon ? throughDaemon(daemon) : createShellFiles(connection);
  return {
    async read(path, options = {}) {
      const { maxBytes = MAX_BYTES, signal } = checkFileOptions(options);
      return files.read(checkPath(path), { maxBytes, ...(signal && { signal }) });
    },
    readStream: async (path, options = {}) => files.readStream(checkPath(path), checkFileOptions(options)),
    async write(path, content, options = {}) {
      using _guard = guardInput(checkContent(content));
      const { mode = FILE_MODE, parents = true, signal } = checkFileOptions(options);
      await files.write(checkPath(path), { content, mode, parents, ...(signal && { signal }) });
    },
    list: async (path) => files.list(checkPath(path)),
    stat: async (path, options = {}) => files.stat(checkPath(path), { follow: false, ...checkFileOptions(options) }),
    remove: async (path, options = {}) => files.remove(checkPath(path), { recursive: false, ...checkFileOptions(options) }),
    mkdir: async (path, options = {}) =>
      files.mkdir(checkPath(path), { mode: DIRECTORY_MODE, parents: true, ...checkFileOptions(options) }),
    async putTree(hostDirectory, path, options = {}) {
      const link = linkFor(daemon);
      checkPath(path);
      throwIfAborted(options.signal, `cannot copy to ${path}: it was cancelled`);
      const { stream, result } = await packTree(hostDirectory, checkFileOptions(options));
      using _guard = guardInput(stream);
      try {
        await makeDirectory(link, path, { mode: DIRECTORY_MODE, parents: true });
        await unpackTree(link, path, { content: stream, ...(options.signal && { signal: options.signal }) });
      } finally {
        stream.destroy();
      }
      return result();
    },
    async getTree(path, hostDirectory, options = {}) {
      const output = await openTree(linkFor(daemon), checkPath(path), checkFileOptions(options));
      return unpackArchive(asReadable(output), hostDirectory, options);
    },
  };
}

function linkFor(daemon: DaemonAccess | undefined): DaemonLink {
  if (daemon) return daemon.link;
  throw new HoldfastError("daemon-missing", "trees can only be copied where holdfastd runs in the sandbox");
}

function throughDaemon({ link }: DaemonAccess): FileTransport {
  return {
    async read(path, { maxBytes, signal }) {
      // One more than allowed: a file may be longer than it says, or grow.
      const output = await openFile(link, path, { limit: maxBytes + 1, ...(signal && { signal }) });
      const parts: Buffer[] = [];
      try {
        let total = 0;
        while (output.size <= maxBytes && total <= maxBytes) {
          const chunk = await output.next();
          if (chunk === null) return Buffer.concat(parts);
          parts.push(chunk.bytes);
          total += chunk.bytes.length;
        }
      } finally {
        output.detach();
      }
      throw fileTooLarge(path, maxBytes);
    },
    async readStream(path, { signal }) {
      const output = await openFile(link, path, { limit: 0, ...(signal && { signal }) });
      const stream = asReadable(output);
      // Also while nobody reads from it.
      output.ended.catch((error: unknown) => void (signal?.aborted && stream.destroy(error as Error)));
      return stream;
    },
    write: (path, options) => writeFile(link, path, options),
    list: (path) => listDirectory(link, path),
    stat: (path, options) => statFile(link, path, options),
    remove: (path, options) => removeFile(link, path, options),
    mkdir: (path, options) => makeDirectory(link, path, options),
  };
}
