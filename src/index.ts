/** @module The library: `import { openHoldfast } from "holdfast"`. */
export { type Box, type Holdfast, type OpenHoldfastOptions, openHoldfast } from "./app/open-holdfast.ts";
export type {
  BackendReport,
  ConfigEntry,
  ConfigSetting,
  DoctorReport,
  SandboxDetails,
  SandboxSummary,
  SessionSummary,
} from "./app/results.ts";
export { type ErrorCode, HoldfastError } from "./base/errors.ts";
export type { LogRecord } from "./base/log.ts";
export type { CallOptions, CallResult, Command } from "./sandbox/call.ts";
export type { OutputStream, SandboxActivity } from "./sandbox/driver.ts";
