/** @module What people should know about a container without entering it. */
import type { SandboxDescription } from "../../driver.ts";
import { NOT_LIMITABLE, type Settings } from "../../spec.ts";
import type { InspectedContainer } from "./inspect.ts";

export interface Made {
  readonly weakened: readonly string[];
  /** As far as it is known. */
  readonly made: Settings | undefined;
}

export function describeContainer(container: InspectedContainer, { weakened, made }: Made): SandboxDescription {
  const { cpu, memoryMb, diskMb, pids } = container.limits;
  const amount = (value: number, unit: string) => (value === 0 ? "unlimited" : `${value}${unit}`);
  /** One that the engine left out looks like one that was not asked for. */
  const limit = (setting: "cpu" | "disk", value: number, unit: string) =>
    value === 0 && made?.[setting] === NOT_LIMITABLE ? "unlimited, because the engine cannot limit it" : amount(value, unit);
  return {
    status: statusOf(container),
    image: container.image,
    limits: {
      cpu: limit("cpu", cpu, " cores"),
      memory: amount(memoryMb, " MB"),
      disk: limit("disk", diskMb, " MB"),
      processes: amount(pids, ""),
    },
    weakened,
  };
}

function statusOf({ status, state, exitCode, oomKilled, finishedAt }: InspectedContainer): string {
  if (state !== "stopped" || finishedAt === null) return status;
  const how = oomKilled ? "it ran out of memory" : `status ${exitCode}`;
  return `${status} at ${new Date(finishedAt).toISOString()}, ${how}`;
}
