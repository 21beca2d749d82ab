/** @module The library: `import { openHoldfast, openWorker } from "holdfast"`. */
export type {
  BlockReason,
  Board,
  BoardTask,
  CreatedTask,
  NewTask,
  TaskAttachment,
  TaskComment,
  TaskCompletion,
  TaskDetails,
  TaskFilter,
  TaskHandover,
  TaskList,
  TaskReason,
  TaskRun,
  TaskStatus,
} from "./app/board-results.ts";
export {
  type Box,
  type CleanupOptions,
  type Holdfast,
  type OpenHoldfastOptions,
  openHoldfast,
  type RemoveOptions,
  type SandboxChoice,
} from "./app/open-holdfast.ts";
export { type OpenWorkerOptions, openWorker, type Worker } from "./app/open-worker.ts";
export type { ProcessHandle } from "./app/process-handle.ts";
export type {
  BackendReport,
  ConfigEntry,
  ConfigSetting,
  DaemonReport,
  DoctorReport,
  ListedSandbox,
  PruneReport,
  SandboxDetails,
  SandboxExplanation,
  SandboxSummary,
  SessionSummary,
} from "./app/results.ts";
export { type ErrorCode, HoldfastError } from "./base/errors.ts";
export type { LogRecord } from "./base/log.ts";
export type { CallControl, CallOptions, CallResult, Command } from "./sandbox/call.ts";
export type { DaemonStatus } from "./sandbox/daemon/status.ts";
export type { ExitStatus, OutputStream, SandboxActivity, SandboxDescription } from "./sandbox/driver.ts";
export type { FileInfo, Files, ReadFileOptions, TreeOptions, TreeResult, WriteFileOptions } from "./sandbox/files.ts";
export type {
  Attachment,
  AttachOptions,
  LogChunk,
  LogOptions,
  ProcessEvent,
  ProcessInfo,
  ProcessOptions,
  TerminalSize,
  WatchOptions,
} from "./sandbox/process.ts";
export type { Difference } from "./sandbox/spec.ts";
