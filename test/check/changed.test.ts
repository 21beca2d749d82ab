import { describe, expect, test } from "vitest";
import { reachedBy, testFiles } from "../../scripts/check/changed.ts";

const all = testFiles();
const reached = (...changed: string[]) => reachedBy(changed, all);

describe("the tests that a change can reach", () => {
  test("are those that import what has changed, however far away", () => {
    const tests = reached("src/base/duration.ts");
    expect(tests).toContain("src/base/duration.test.ts");
    expect(tests).toContain("src/config/load.test.ts");
    expect(tests).not.toContain("src/sandbox/quote.test.ts");
    expect(tests.length).toBeLessThan(all.length);
  });

  test("are those that start it, and that read it", () => {
    expect(reached("src/cli/main.ts")).toContain("test/e2e/cli-exec.test.ts");
    expect(reached("holdfastd/socket.c")).toContain("test/daemon/lifetime.test.ts");
    expect(reached("holdfastd/socket.c")).toContain("src/app/open-holdfast.test.ts");
    expect(reached("docs/guides/files.md")).toContain("test/docs.test.ts");
    expect(reached("docs/guides/files.md")).not.toContain("src/base/duration.test.ts");
  });

  test("are the changed ones, none for no change, and all for what every test runs with", () => {
    expect(reached("src/base/duration.test.ts")).toContain("src/base/duration.test.ts");
    expect(reached()).toEqual([]);
    expect(reached("package-lock.json")).toEqual(all);
    expect(reached("vitest.config.ts")).toEqual(all);
  });
});
