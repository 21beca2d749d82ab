/** @module The library: `import { openHoldfast } from "holdfast"`. */
export type { ConfigEntry } from "./app/config-entry.ts";
export { type Box, type Holdfast, type OpenHoldfastOptions, openHoldfast } from "./app/open-holdfast.ts";
export type { SandboxSummary, SessionSummary } from "./app/schemas.ts";
export { type ErrorCode, HoldfastError } from "./base/errors.ts";
export type { LogRecord } from "./base/log.ts";
export type { CallOptions, CallResult, Command } from "./sandbox/call.ts";
export type { OutputStream } from "./sandbox/driver.ts";
