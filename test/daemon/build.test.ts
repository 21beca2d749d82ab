import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { describeIf } from "../helpers/requirements.ts";
import { forEachTest } from "../helpers/suite.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";

const ROOT = join(import.meta.dirname, "../..");
const TOOLS = ["make", "sh", "mkdir", "mv", "cmp", "rm"];

describeIf("cc", "what the daemon is built with", () => {
  const scratch = forEachTest(temporaryDirectory);
  const bin = () => join(scratch.path, "bin");
  const env = () => ({ PATH: bin() });

  /** In the PATH, which has nothing else. */
  function install(...names: readonly string[]): void {
    mkdirSync(bin(), { recursive: true });
    for (const name of names) symlinkSync(execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim(), join(bin(), name));
  }

  /** One that writes its name for what it should compile. */
  function installCompiler(name: string): void {
    const script = `#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho ${name} >"$2"\n`;
    writeFileSync(join(bin(), name), script);
    chmodSync(join(bin(), name), 0o755);
  }

  function built(): string {
    execFileSync("make", ["-s", "-C", join(ROOT, "holdfastd"), `OUT=${scratch.path}/out`, "release"], { env: env(), stdio: "pipe" });
    return readFileSync(join(scratch.path, "out/holdfastd"), "utf8").trim();
  }

  test("is made again by a better compiler that was installed later, and not again by the same", () => {
    install(...TOOLS);
    installCompiler("cc");
    expect(built()).toBe("cc");
    installCompiler("musl-gcc");
    expect(built()).toBe("musl-gcc");
    writeFileSync(join(bin(), "musl-gcc"), "#!/bin/sh\nexit 1\n");
    expect(built()).toBe("musl-gcc");
  });

  describe("is out of date", () => {
    const SOURCES = ["src", "holdfastd", "scripts", "package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json", "dist"];

    function isStale(builtWith: string): boolean {
      const clone = join(scratch.path, "clone");
      for (const name of SOURCES) mkdirSync(join(clone, name), { recursive: true });
      writeFileSync(join(clone, "dist/.built"), `${builtWith}\n`);
      const later = Date.now() / 1000 + 60;
      utimesSync(join(clone, "dist/.built"), later, later);
      const script = `. "$1/scripts/stale.sh"; build_is_stale "$2"`;
      return spawnSync(join(bin(), "sh"), ["-c", script, "sh", ROOT, clone], { env: env() }).status === 0;
    }

    test.each([
      { builtWith: "musl-gcc", installed: ["make", "cc", "musl-gcc"], stale: false },
      { builtWith: "cc", installed: ["make", "cc"], stale: false },
      { builtWith: "cc", installed: ["make", "cc", "musl-gcc"], stale: true },
      { builtWith: "nothing", installed: [], stale: false },
      { builtWith: "nothing", installed: ["cc"], stale: false },
      { builtWith: "nothing", installed: ["make", "cc"], stale: true },
      { builtWith: "nothing", installed: ["make", "musl-gcc"], stale: true },
      // They are all there, and it cannot be done: not at every start again.
      { builtWith: "failed", installed: ["make", "cc", "musl-gcc"], stale: false },
    ])("built with $builtWith beside $installed: $stale", ({ builtWith, installed, stale }) => {
      install("sh");
      for (const name of installed) installCompiler(name);
      expect(isStale(builtWith)).toBe(stale);
      rmSync(bin(), { recursive: true });
    });
  });
});
