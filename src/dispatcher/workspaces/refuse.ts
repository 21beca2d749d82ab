/** @module Why a workspace cannot be had. */
import { HoldfastError, type HoldfastErrorOptions } from "../../base/errors.ts";

export function refused(message: string, options?: HoldfastErrorOptions): HoldfastError {
  return new HoldfastError("workspace-failed", message, options);
}
