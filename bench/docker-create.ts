/** @module What making a sandbox in a container costs, against the engine's own `run`, and what many idle ones cost. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { type Benchmark, measure } from "./measure.ts";
import { openBench } from "./open-bench.ts";

const ROUNDS = 15;
const IDLE = 64;

export const benchmark: Benchmark = {
  summary: "from nothing to the first call, against `docker run -d`, and what 64 idle sandboxes cost; needs HOLDFAST_BENCH_IMAGE",
  async run() {
    const image = process.env.HOLDFAST_BENCH_IMAGE;
    if (image === undefined)
      return { timings: [], notes: ["not measured: set HOLDFAST_BENCH_IMAGE to an image with bash that the engine has"] };
    // Asking for a disk limit that the storage cannot give would cost a try.
    await using bench = await openBench({ "terminal.backend": "docker", "terminal.docker_image": image, "terminal.container_disk": 0 });
    const plain: string[] = [];
    const tasks: string[] = [];
    const create = async () => {
      const task = `made-${tasks.length}`;
      tasks.push(task);
      // Another object each time, as another process would have it.
      await using holdfast = await bench.reopen();
      await (await holdfast.sandbox(task)).run("true");
    };
    const run = () => void plain.push(docker("run", "-d", "--init", image, "sleep", "1000000"));
    const timings = await measure(
      [
        { label: "docker run -d", run },
        { label: "open, create, first call, close", run: create },
      ],
      { rounds: ROUNDS },
    );
    while (tasks.length < IDLE) await create();
    const idle = daemonsBelow(bench.home).map(proportionalKb);
    docker("rm", "-f", ...plain);
    for (const task of tasks) await bench.holdfast.sandboxes.remove(task, { force: true });
    return {
      timings,
      notes: [
        "aim: at most 1.15 x `docker run -d` + 10 ms",
        `${idle.length} idle sandboxes: holdfastd takes ${Math.max(...idle)} kB in the largest of them, beyond the container; aim: at most 1,024 kB`,
      ],
    };
  },
};

function docker(...args: string[]): string {
  return execFileSync("docker", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}

/** Those in the containers whose run directory is below that home, by the mounts that their processes see. */
function daemonsBelow(home: string): number[] {
  const pids = execFileSync("pgrep", ["-f", "^/holdfast/holdfastd serve"], { encoding: "utf8" }).trim().split("\n").map(Number);
  return pids.filter((pid) => readFileSync(`/proc/${pid}/mountinfo`, "utf8").includes(home.split("/").at(-1) ?? home));
}

/** Its own pages, and its share of those that several use. */
function proportionalKb(pid: number): number {
  return Number(/^Pss:\s*(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]);
}
