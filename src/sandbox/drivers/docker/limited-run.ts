/** @module Making a container with those of its limits that the engine can apply, if it need not apply all of them (S7). */
import { HoldfastError } from "../../../base/errors.ts";
import type { Logger } from "../../../base/log.ts";
import type { Abortable } from "../../driver.ts";
import type { DriverContext } from "../../driver-context.ts";
import type { SandboxSpec } from "../../spec.ts";
import type { RunLine } from "./argv.ts";
import type { CheckedEngine } from "./checked-engine.ts";
import type { EngineResult } from "./engine.ts";
import { reasonOf } from "./engine-error.ts";
import { type DiskKnowledge, engineVersion, leftOut, refusesCpu, refusesDisk } from "./limits.ts";

const RUN_LIMIT_MS = 50_000;

type Limits = SandboxSpec["limits"];
type LimitOption = "container_cpu" | "container_memory" | "container_disk";
const ALL: readonly LimitOption[] = ["container_cpu", "container_memory", "container_disk"];
/** The command line with these limits. */
export type LineFor = (limits: Limits) => RunLine;

export interface LimitedRunOptions {
  engine(): Promise<CheckedEngine>;
  readonly disk: DiskKnowledge;
  readonly isSet: DriverContext["isSet"];
  readonly log: Logger;
}

export interface LimitedRunResult extends EngineResult {
  /** Limits that are not in force, although they were asked for. */
  readonly unlimited: readonly string[];
}

export function createLimitedRun({ engine, disk, isSet, log }: LimitedRunOptions) {
  /** `options`: those that ask for it. With one alone, 0 there asks for no such limit. */
  const tell = (what: string, { strict }: Limits, options: readonly LimitOption[]): void => {
    const [key] = options.length === 1 ? options.map((option) => `terminal.${option}`) : [];
    const hint = `set ${key ? `${key} to 0, or ` : ""}terminal.container_limits to lenient`;
    if (strict) throw new HoldfastError("sandbox-create-failed", `${what}, and terminal.container_limits is strict`, { hint });
    const told = `${what}, so the sandbox has none${key ? ` (${key}: 0 asks for none)` : ""}`;
    if (options.some(isSet)) log.warn(told);
    else log.info(told);
  };

  /** @throws `sandbox-create-failed` with strict limits that cannot be applied */
  return async (wanted: Limits, lineFor: LineFor, { signal }: Abortable): Promise<LimitedRunResult> => {
    const { identity, run, facts } = await engine();
    const which = engineVersion({ identity }, await facts());
    const unlimited: string[] = [];
    let limits = wanted;
    const attempt = async (): Promise<EngineResult> => {
      const line = lineFor(limits);
      return run(line.args, { limitMs: RUN_LIMIT_MS, signal, env: line.env });
    };
    const withoutDisk = () => {
      limits = { ...limits, diskMb: 0 };
      unlimited.push("disk");
      tell(`the disk cannot be limited to ${wanted.diskMb} MB: the engine's storage has no such limit`, wanted, ["container_disk"]);
    };
    if (wanted.diskMb > 0 && disk.cannot(which)) withoutDisk();
    let result = await attempt();
    if (limits.diskMb > 0 && refusesDisk(result)) {
      disk.learn(which);
      withoutDisk();
      result = await attempt();
    }
    if (refusesCpu(result)) {
      limits = { ...limits, cpu: 0 };
      unlimited.push("cpu");
      tell(`the sandbox cannot be limited to ${wanted.cpu} cores: ${reasonOf(result.stderr)}`, wanted, ["container_cpu"]);
      result = await attempt();
    }
    if (result.code === 0) for (const line of leftOut(result.stderr)) tell(`the engine left a limit out (${line})`, wanted, ALL);
    return { ...result, unlimited };
  };
}
