/** @module Every verb with its one line of help; the rest of a verb is loaded when it is used. */
import type { RegisterVerb } from "../verb.ts";

export interface VerbEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<{ register: RegisterVerb }>;
}

export const VERBS: readonly VerbEntry[] = [
  { name: "exec", summary: "run a command in a sandbox", load: () => import("./exec.ts") },
  { name: "shell", summary: "log in to a sandbox", load: () => import("./shell.ts") },
  { name: "process", summary: "commands in the background: start, follow, end", load: () => import("./process.ts") },
  { name: "cp", summary: "copy files between the host and sandboxes", load: () => import("./cp.ts") },
  { name: "session", summary: "list and forget sessions", load: () => import("./session.ts") },
  { name: "sandbox", summary: "list, make, inspect, explain, stop and remove sandboxes", load: () => import("./sandbox.ts") },
  { name: "config", summary: "read and change the configuration", load: () => import("./config.ts") },
  { name: "profile", summary: "list, make, show, choose, rename, delete, export and import profiles", load: () => import("./profile.ts") },
  { name: "kanban", summary: "boards of tasks, and profiles that work on them", load: () => import("./kanban.ts") },
  { name: "mcp", summary: "serve the board's verbs as MCP tools, on standard input and output", load: () => import("./mcp.ts") },
  { name: "doctor", summary: "check every backend", load: () => import("./doctor.ts") },
  { name: "completion", summary: "print a completion script for bash, zsh or fish", load: () => import("./completion.ts") },
];
