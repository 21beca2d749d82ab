/** @module All that a call remembers of its output: both streams, their merger, and the overflow file. */
import type { Clock } from "../../base/clock.ts";
import type { CallResult } from "../call.ts";
import type { OutputStream } from "../driver.ts";
import { createCapture } from "./capture.ts";
import { createSpill } from "./spill.ts";

export interface OutputLimits {
  /** Characters kept in memory of each stream. */
  readonly keepChars: number;
  /** Largest overflow file in bytes; 0 = none. */
  readonly spillBytes: number;
  /** Where overflow files go. */
  readonly spillDirectory: string;
}

export interface RecordedOutput extends Pick<CallResult, "output" | "stdout" | "stderr" | "truncated" | "outputBytes" | "outputFile"> {
  /** Why the overflow file is missing or not whole. */
  readonly fileProblem: string | null;
}

export interface OutputRecorder {
  add(chunk: Uint8Array, stream: OutputStream): void | Promise<void>;
  finish(): Promise<RecordedOutput>;
  /** Instead of `finish`, when the call failed: nothing stays on the disk. */
  abandon(): Promise<void>;
}

export function createOutputRecorder({ keepChars, spillBytes, spillDirectory }: OutputLimits, clock: Clock): OutputRecorder {
  const merged = createCapture(keepChars);
  const streams = { stdout: createCapture(keepChars), stderr: createCapture(keepChars) };
  const spill = createSpill({ directory: spillDirectory, threshold: keepChars, limit: spillBytes, clock });

  return {
    add(chunk, stream) {
      merged.add(chunk);
      streams[stream].add(chunk);
      return spill.write(chunk);
    },
    async abandon() {
      await spill.close();
      await spill.discard();
    },
    async finish() {
      const { path, problem } = await spill.close();
      const part = problem === null ? "the whole output" : "its beginning";
      const where = path === null ? "they were not kept" : `${part} is in ${path}`;
      const place = problem === null ? where : `${where}: ${problem}`;
      const marker = (omitted: number) => `\n[… ${omitted.toLocaleString("en-US")} bytes left out here; ${place} …]\n`;
      const output = merged.text(marker);
      // A limit in characters lets through more bytes than a limit in bytes, so the file may turn out to be needless.
      if (!output.truncated) await spill.discard();
      return {
        output: output.text,
        stdout: streams.stdout.text(marker).text,
        stderr: streams.stderr.text(marker).text,
        truncated: output.truncated,
        outputBytes: merged.bytes,
        outputFile: output.truncated ? path : null,
        fileProblem: output.truncated ? problem : null,
      };
    },
  };
}
