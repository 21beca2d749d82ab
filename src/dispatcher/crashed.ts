/** @module Runs whose worker has ended, or whose supervisor is gone. */
import { exitOf } from "../board/exit.ts";
import type { Step } from "./verdict.ts";

export const crashed: Step = (run, { seen }) => (seen === "gone" || exitOf(run) !== null ? { outcome: null } : null);
