/** @module The daemon alone: a raw call from C against posix_spawn, and what an idle one costs. */
import { execFileSync, type StdioOptions } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Benchmark } from "./measure.ts";
import { openBench } from "./open-bench.ts";

const CALLS = "1000";
const SOURCES = join(import.meta.dirname, "../holdfastd");

export const benchmark: Benchmark = {
  summary: "a raw call without Node between, against posix_spawn and wait of the same `bash -c true`, both from C",
  async run() {
    await using bench = await openBench();
    const { pid, runDir } = daemonOf(bench.home);
    const idle = `idle: ${residentOf(pid)} kB resident`;
    const program = join(bench.home, "raw-call");
    const files = ["sha256.c", "frame.c"].map((file) => join(SOURCES, file));
    execFileSync("cc", ["-O2", "-D_GNU_SOURCE", "-o", program, join(import.meta.dirname, "raw-call.c"), ...files]);
    const secret = readFileSync(join(runDir, "secret"), "utf8");
    // Not our own input: bash reads the start-up files of an interactive shell when that is a socket.
    const stdio: StdioOptions = ["ignore", "pipe", "inherit"];
    const measured = execFileSync(program, [join(runDir, "socket"), secret, CALLS], { encoding: "utf8", stdio });
    return {
      timings: [],
      notes: [
        ...measured.trim().split("\n"),
        "aim: ratio of at most 1.5, at least 500 MB/s",
        idle,
        `after that: ${residentOf(pid)} kB resident`,
        "aim: at most 1,024 kB",
      ],
    };
  },
};

function daemonOf(home: string): { pid: number; runDir: string } {
  const list = execFileSync("pgrep", ["-f", "-a", home], { encoding: "utf8" });
  const [, pid, runDir] = /^(\d+) .*--state (\S+)/m.exec(list) ?? [];
  if (runDir === undefined) throw new Error(`no daemon runs for ${home}: build with a C compiler first`);
  return { pid: Number(pid), runDir };
}

/** Pages of its own and shared ones, as `ps` shows it. */
function residentOf(pid: number): string {
  return /^VmRSS:\s*(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "unknown";
}
