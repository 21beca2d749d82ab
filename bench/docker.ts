/** @module What a call in a container costs, against the engine's own exec on the same engine. */
import { execFileSync } from "node:child_process";
import { createApp } from "../src/app/create-app.ts";
import type { Connection } from "../src/sandbox/driver.ts";
import { type Benchmark, commandCase, measure } from "./measure.ts";
import { type Bench, openBench } from "./open-bench.ts";

const ROUNDS = 60;

export const benchmark: Benchmark = {
  summary: "calls in a container, with session state, against `docker exec`; needs HOLDFAST_BENCH_IMAGE",
  async run() {
    const image = process.env.HOLDFAST_BENCH_IMAGE;
    if (image === undefined)
      return { timings: [], notes: ["not measured: set HOLDFAST_BENCH_IMAGE to an image with bash that the engine has"] };
    const config = { "terminal.backend": "docker", "terminal.docker_image": image };
    await using bench = await openBench(config);
    const connection = await rawConnection(bench, config);
    await using _raw = connection;
    const { id } = await bench.holdfast.sandboxes.inspect("bench");
    const flags = Object.entries(config).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
    const env = { ...process.env, HOLDFAST_HOME: bench.home };
    const attach = async () => {
      await using holdfast = await bench.reopen();
      await (await holdfast.sandbox("bench")).run("true");
    };
    await bench.box.run("true");
    const timings = await measure(
      [
        commandCase("docker exec C bash -c true", ["docker", "exec", id, "bash", "-c", "true"]),
        commandCase("docker exec C true", ["docker", "exec", id, "true"]),
        { label: "a raw call: bash -c true", run: () => rawCall(connection) },
        { label: "box.run('true')", run: () => bench.box.run("true") },
        { label: "open, attach, first call, close", run: attach },
        commandCase("./holdfast exec -- true", ["./holdfast", ...flags, "exec", "-t", "bench", "--", "true"], { env }),
      ],
      { rounds: ROUNDS },
    );
    const version = execFileSync("docker", ["version", "--format", "{{.Server.Version}}"], { encoding: "utf8" }).trim();
    return {
      timings,
      notes: [
        `engine ${version}`,
        "aim: a raw call at most 1/25, a call at most 1/18, attach and first call at most 1/10 of the first line, the whole process at most 0.75 of the second",
      ],
    };
  },
};

/** Without a session around it. */
async function rawConnection({ home }: Bench, config: Readonly<Record<string, string>>): Promise<Connection> {
  const flags = Object.entries(config).map(([key, value]) => ({ name: "-c", key, value }));
  const app = await createApp({ environment: { ...process.env, HOLDFAST_HOME: home }, cwd: home, flags });
  const found = await (await app.driver()).attach?.(await app.owner("bench"));
  if (!found) throw new Error("the sandbox cannot be reached over its socket");
  return found.connection;
}

async function rawCall(connection: Connection): Promise<void> {
  const call = await connection.spawn(["bash", "-c", "true"], { stdin: "none", onOutput() {} });
  await call.ended;
}
