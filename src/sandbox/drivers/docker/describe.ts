/** @module What people should know about a container without entering it. */
import type { SandboxDescription } from "../../driver.ts";
import type { InspectedContainer } from "./inspect.ts";

export function describeContainer(container: InspectedContainer, weakened: readonly string[]): SandboxDescription {
  const { cpu, memoryMb, diskMb, pids } = container.limits;
  const amount = (value: number, unit: string) => (value === 0 ? "unlimited" : `${value}${unit}`);
  return {
    status: statusOf(container),
    image: container.image,
    limits: { cpu: amount(cpu, " cores"), memory: amount(memoryMb, " MB"), disk: amount(diskMb, " MB"), processes: amount(pids, "") },
    weakened,
  };
}

function statusOf({ status, state, exitCode, oomKilled, finishedAt }: InspectedContainer): string {
  if (state !== "stopped" || finishedAt === null) return status;
  const how = oomKilled ? "it ran out of memory" : `status ${exitCode}`;
  return `${status} at ${new Date(finishedAt).toISOString()}, ${how}`;
}
