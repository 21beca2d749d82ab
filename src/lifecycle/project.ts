/** @module The processes and files of whatever sandbox a lease is on: each use counts for as long as it lasts. */
import { finished } from "node:stream/promises";
import { guardInput } from "../sandbox/feed.ts";
import type { Files } from "../sandbox/files.ts";
import type { Processes } from "../sandbox/process.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Entry } from "./entry.ts";
import { inputIsWhole } from "./replace.ts";

export interface Use<T> {
  readonly signal?: AbortSignal | undefined;
  /** @default true */
  mayRepeat?(): boolean;
  /** It changes nothing, so it is repeated in a new sandbox whether or not the lost one had begun with it. @default false */
  readonly looks?: boolean;
  action(entry: Entry): Promise<T>;
  /** The use goes on until this settles. Without it, it ends with the action. */
  lasts?(value: T): Promise<unknown>;
}

export type UseSandbox = <T>(use: Use<T>) => Promise<T>;
export type IterateSandbox = <T>(open: (sandbox: Sandbox) => AsyncIterable<T>, signal?: AbortSignal) => AsyncIterable<T>;

export function projectProcesses(use: UseSandbox, iterate: IterateSandbox): Processes {
  return {
    start: (command, options) => use({ action: ({ sandbox }) => sandbox.processes.start(command, options) }),
    list: () => use({ looks: true, action: ({ sandbox }) => sandbox.processes.list() }),
    get: (id) => use({ looks: true, action: ({ sandbox }) => sandbox.processes.get(id) }),
    logs: (id, options) => iterate((sandbox) => sandbox.processes.logs(id, options), options?.signal),
    watch: (id, options) => iterate((sandbox) => sandbox.processes.watch(id, options), options.signal),
    wait: (id, options) => use({ signal: options?.signal, action: ({ sandbox }) => sandbox.processes.wait(id, options) }),
    kill: (id, options) => use({ action: ({ sandbox }) => sandbox.processes.kill(id, options) }),
    signal: (id, name) => use({ action: ({ sandbox }) => sandbox.processes.signal(id, name) }),
    write: (id, bytes, options) => use({ action: ({ sandbox }) => sandbox.processes.write(id, bytes, options) }),
    attach: (id, options) => use({ action: ({ sandbox }) => sandbox.processes.attach(id, options), lasts: ({ ended }) => ended }),
    remove: (id) => use({ action: ({ sandbox }) => sandbox.processes.remove(id) }),
  };
}

export function projectFiles(use: UseSandbox): Files {
  return {
    read: (path, options) => use({ looks: true, signal: options?.signal, action: ({ sandbox }) => sandbox.files.read(path, options) }),
    readStream: (path, options) =>
      use({
        signal: options?.signal,
        action: ({ sandbox }) => sandbox.files.readStream(path, options),
        lasts: (stream) => finished(stream),
      }),
    async write(path, content, options) {
      using _guard = guardInput(content);
      await use({
        signal: options?.signal,
        mayRepeat: () => inputIsWhole(content),
        action: ({ sandbox }) => sandbox.files.write(path, content, options),
      });
    },
    list: (path) => use({ looks: true, action: ({ sandbox }) => sandbox.files.list(path) }),
    stat: (path, options) => use({ looks: true, action: ({ sandbox }) => sandbox.files.stat(path, options) }),
    remove: (path, options) => use({ action: ({ sandbox }) => sandbox.files.remove(path, options) }),
    mkdir: (path, options) => use({ action: ({ sandbox }) => sandbox.files.mkdir(path, options) }),
    putTree: (hostDirectory, path, options) =>
      use({ signal: options?.signal, action: ({ sandbox }) => sandbox.files.putTree(hostDirectory, path, options) }),
    getTree: (path, hostDirectory, options) =>
      use({ signal: options?.signal, action: ({ sandbox }) => sandbox.files.getTree(path, hostDirectory, options) }),
  };
}
