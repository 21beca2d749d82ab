import { globSync, readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";

const holds = (word: string) => (path: string) => readFileSync(path, "utf8").includes(word);
const all = globSync("{src,test}/**/*.test.ts").sort();

/** They share an engine, whose own work is most of their time. What holds on each engine runs once for each. */
const podman = all.filter(holds("describeEngines(")).concat("test/drivers/podman.test.ts");
const docker = globSync([
  "test/docker/**/*.test.ts",
  "test/docs.test.ts",
  "test/drivers/{docker,docker-exec}.test.ts",
  "test/e2e/docker-story.test.ts",
  "test/helpers/engine.test.ts",
  "test/workers/sandbox-{ends,verbs}.test.ts",
]);
/** Faults at random, and numbers that grow with --soak. */
const faults = globSync(["test/faults/*.test.ts", "test/daemon/{fuzz,load}.test.ts", "test/launcher.test.ts"]);
/** The same again on what else it must work on: PostgreSQL, and drivers that share the code of those above. */
const variants = globSync(["test/{board,dispatcher}/postgres*.test.ts", "test/drivers/{local,local-without-files,memory}.test.ts"]);
/** What starts programs, has a hand on its own process, or asks what it has loaded. */
const programs = globSync([
  "test/**/*.test.ts",
  "src/**/{remove-tree,file-lock,host-pipes,repeat}.test.ts",
  "src/sandbox/drivers/{local,docker}/**/*.test.ts",
]);
const elsewhere = new Set([...podman, ...docker, ...faults, ...variants]);

export default defineConfig({
  test: {
    // For what hangs, and for nothing else: a busy machine may take ten times as long as an idle one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    maxWorkers: 2,
    globalSetup: ["test/helpers/engine-place.ts"],
    projects: [
      { extends: true, test: { name: "docker", include: docker, env: { TEST_ENGINE: "docker" } } },
      { extends: true, test: { name: "podman", include: podman, env: { TEST_ENGINE: "podman" } } },
      { extends: true, test: { name: "faults", include: faults } },
      { extends: true, test: { name: "variants", include: variants } },
      { extends: true, test: { name: "programs", include: programs.filter((path) => !elsewhere.has(path)) } },
      {
        extends: true,
        test: { name: "sources", include: all.filter((path) => !elsewhere.has(path) && !programs.includes(path)), isolate: false },
      },
    ],
  },
});
