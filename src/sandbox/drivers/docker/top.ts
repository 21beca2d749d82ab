/** @module Reads the processes of a container from what `top` prints. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { SandboxActivity } from "../../driver.ts";
import { isOwnCommand } from "./exec/script.ts";
import type { Quirks } from "./quirks.ts";

/** The engine's init, our daemon and its keepers are there in every container. */
const OWN = new Set(["docker-init", "podman-init", "catatonit", "tini", "holdfastd", "keeper"]);

export function readTop(text: string, { topShowsHostIds }: Pick<Quirks, "topShowsHostIds">): SandboxActivity[] {
  const lines = text.trim().split("\n").slice(1);
  return lines.flatMap((line) => {
    const [, pid, shown = "", program = ""] = /^\s*(\d+)\s+((\S+).*)$/.exec(line) ?? [];
    const command = basename(program);
    if (pid === undefined || OWN.has(command) || isOwnCommand(shown.trimEnd())) return [];
    return [{ pid: topShowsHostIds ? idInside(Number(pid)) : Number(pid), command }];
  });
}

/** On the machine of the engine itself the kernel tells; elsewhere the host's id must do. */
function idInside(pid: number): number {
  try {
    const ids = /^NSpid:\s*(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "";
    return Number(ids.split(/\s+/).at(-1)) || pid;
  } catch {
    // ENOENT: it has just ended, or this is another machine.
    return pid;
  }
}
