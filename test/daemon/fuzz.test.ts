import { execFile } from "node:child_process";
import { chmod, chown, copyFile, cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { buildDaemon } from "../helpers/daemon.ts";
import { describeIf } from "../helpers/requirements.ts";
import { soakCount } from "../helpers/soak.ts";
import { temporaryDirectory } from "../helpers/temporary-directory.ts";

const CORPUS = join(import.meta.dirname, "../../holdfastd/fuzz/corpus");
const INPUTS = soakCount("fuzzed inputs of the daemon", { check: 20_000, soak: 200_000 });
const LIMIT_SECONDS = 300;
const NOBODY = 65_534;

describeIf(["cc", "clang"], "the frames of clients, fuzzed", () => {
  test("the committed inputs and many new ones find nothing", async () => {
    await using scratch = await temporaryDirectory();
    const [fuzzer, work, corpus] = ["fuzzer", "work", "corpus"].map((name) => join(scratch.path, name)) as [string, string, string];
    await copyFile(await buildDaemon("fuzz"), fuzzer);
    await cp(CORPUS, corpus, { recursive: true });
    await mkdir(work);
    await chmod(scratch.path, 0o755);
    // Never as root: a hole in what keeps it from the machine would be the machine's.
    const root = process.getuid?.() === 0;
    if (root) await chown(work, NOBODY, NOBODY);
    const nobody = root ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"] : [];
    const options = [`-runs=${INPUTS}`, `-max_total_time=${LIMIT_SECONDS}`, `-artifact_prefix=${work}/`];
    const [program = "", ...args] = [...nobody, fuzzer, ...options, work, corpus];
    const { stderr } = await promisify(execFile)(program, args, { cwd: work, maxBuffer: 64 * 1024 * 1024 });
    expect(stderr).toContain(`Done ${INPUTS} runs`);
  }, 600_000);
});
