/** @module Whether commands can run on this host at all: what every driver without isolation needs. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describeError, HoldfastError } from "../../../base/errors.ts";
import type { Availability } from "../../driver.ts";

const run = promisify(execFile);
const CHECK_LIMIT_MS = 5_000;
const OLDEST_BASH = [4, 4] as const;

export async function checkHost(
  hostEnv: Readonly<Record<string, string>>,
  platform: NodeJS.Platform = process.platform,
): Promise<Availability> {
  if (platform !== "linux") {
    return { status: "not-applicable", reason: `processes are found and ended through /proc, which ${platform} does not have` };
  }
  try {
    // Node's pipes are sockets, and bash takes a socket for a login from afar: without --norc it would read ~/.bashrc.
    const argv = ["--norc", "-c", 'echo "$BASH_VERSION"'];
    const { stdout } = await run("bash", argv, { env: { PATH: hostEnv.PATH ?? "" }, timeout: CHECK_LIMIT_MS });
    const version = stdout.trim();
    const [major = 0, minor = 0] = version.split(".").map(Number);
    if (major > OLDEST_BASH[0] || (major === OLDEST_BASH[0] && minor >= OLDEST_BASH[1]))
      return { status: "ready", detail: `bash ${version}` };
    return { status: "broken", reason: `bash ${version} is too old`, fix: `install bash ${OLDEST_BASH.join(".")} or newer` };
  } catch (error) {
    return {
      status: "broken",
      reason: `bash does not run: ${describeError(error).split("\n")[0]}`,
      fix: "install bash and make sure it is on the PATH",
    };
  }
}

/** So that what fails later fails for its real cause. @throws `backend-not-applicable`, `backend-broken` */
export function assertReady(backend: string, availability: Availability): void {
  if (availability.status === "not-applicable")
    throw new HoldfastError("backend-not-applicable", `the ${backend} backend cannot run here: ${availability.reason}`, {
      facts: { backend },
    });
  if (availability.status === "broken")
    throw new HoldfastError("backend-broken", `the ${backend} backend does not work: ${availability.reason}`, {
      hint: availability.fix,
      facts: { backend },
    });
}
