import { configDefaults, defineConfig } from "vitest/config";

/** They share an engine, whose own work is most of their time. */
const ENGINES = [
  "test/docker/**/*.test.ts",
  "test/docs.test.ts",
  "test/drivers/{docker,docker-exec,podman}.test.ts",
  "test/e2e/docker-story.test.ts",
  "test/helpers/engine.test.ts",
  "test/workers/sandbox-*.test.ts",
];

export default defineConfig({
  test: {
    // For what hangs, and for nothing else: a busy machine may take ten times as long as an idle one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    globalSetup: ["test/helpers/engine-place.ts"],
    // Two lanes, which ./check runs side by side; in each, one file after the other.
    fileParallelism: false,
    projects: [
      { extends: true, test: { name: "engines", include: ENGINES } },
      {
        extends: true,
        test: { name: "others", include: ["src/**/*.test.ts", "test/**/*.test.ts"], exclude: [...configDefaults.exclude, ...ENGINES] },
      },
    ],
  },
});
