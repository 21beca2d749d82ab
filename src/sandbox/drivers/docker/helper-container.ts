/** @module A short container for one program, which sees nothing but what it is given: for what this machine, or its user, cannot find out or do. */
import { randomId } from "../../../base/ids.ts";
import type { Engine, EngineResult } from "./engine.ts";
import { mountArgs } from "./mounts.ts";

export interface HelperContainer {
  /** One that the engine has. */
  readonly image: string;
  readonly user: string;
  readonly argv: readonly [program: string, ...args: string[]];
  /** Of all capabilities it has these alone. */
  readonly capabilities?: readonly string[];
  /** Directories of the host, by where it sees them. */
  readonly directories?: Readonly<Record<string, string>>;
  /** @default a minute */
  readonly limitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export const ROOT = "0:0";
const LIMIT_MS = 60_000;

export async function runHelper(
  engine: Engine,
  { image, user, argv: [program, ...args], capabilities = [], directories = {}, limitMs = LIMIT_MS, signal }: HelperContainer,
): Promise<EngineResult> {
  const line = [
    ...["run", "--rm", "--pull", "never", "--name", `holdfast-helper-${randomId(8)}`, "--user", user],
    ...["--network", "none", "--security-opt", "no-new-privileges", "--cap-drop", "ALL"],
    ...capabilities.flatMap((capability) => ["--cap-add", capability]),
    ...Object.entries(directories).flatMap(([target, source]) => mountArgs({ source, target, readOnly: false })),
    ...["--entrypoint", program, image, ...args],
  ];
  return await engine.run(line, { limitMs, signal });
}
