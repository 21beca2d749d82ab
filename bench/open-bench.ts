/** @module A sandbox in a home that goes away, for benchmarks. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Box, type Holdfast, openHoldfast } from "../src/index.ts";

export interface Bench extends AsyncDisposable {
  readonly home: string;
  readonly holdfast: Holdfast;
  readonly box: Box;
  /** Another one on the same home, as a new process would open it. */
  reopen(): Promise<Holdfast>;
}

export async function openBench(config: Readonly<Record<string, unknown>> = {}): Promise<Bench> {
  const home = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
  const reopen = () => openHoldfast({ environment: { ...process.env, HOLDFAST_HOME: home }, config, cwd: home });
  const holdfast = await reopen();
  return {
    home,
    holdfast,
    box: await holdfast.sandbox("bench"),
    reopen,
    async [Symbol.asyncDispose]() {
      await holdfast.sandboxes.remove("bench", { force: true });
      await holdfast.close();
      rmSync(home, { recursive: true });
    },
  };
}
