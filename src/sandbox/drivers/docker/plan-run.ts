/** @module From a spec and an image to everything that the command line of a container says. */
import { userInfo } from "node:os";
import type { Logger } from "../../../base/log.ts";
import type { SandboxSpec } from "../../spec.ts";
import { SECRET_FILE } from "../shared/daemon-socket.ts";
import type { RunRequest } from "./argv.ts";
import { DAEMON_PATH, OWN_PATH, RUN_PATH, SOCKET_PATH } from "./connect.ts";
import type { ImageFacts } from "./containers.ts";
import { STAY_COMMAND } from "./exec/script.ts";
import { planMounts } from "./mounts.ts";
import type { Place } from "./place.ts";

export interface RunPlan extends Pick<RunRequest, "name" | "labels" | "cidFile" | "envFile" | "quirks"> {
  readonly spec: SandboxSpec;
  readonly image: ImageFacts;
  readonly imageName: string;
  readonly place: Place;
  /** What is shared with the daemon, on the host. */
  readonly runDir: string;
  /** On the host. Null: the container runs without one. */
  readonly daemonProgram: string | null;
  /** As whom it runs in place of the image's own user. */
  readonly hostUser: RunRequest["hostUser"];
  readonly userIds: RunRequest["userIds"];
}

export function planRun({ spec, image, imageName, place, runDir, daemonProgram, hostUser, ...given }: RunPlan): RunRequest {
  const home = homeOf(image, { hostUser: hostUser !== null, given: spec.env.HOME });
  const kept = spec.keepFiles ? { workspace: place.workspace, home: place.home } : null;
  const serve = [DAEMON_PATH, "serve", "--socket", SOCKET_PATH, "--state", RUN_PATH, "--secret-file", `${RUN_PATH}/${SECRET_FILE}`];
  // With a second start the engine gives the directory the mode that it had underneath.
  serve.push("--door", OWN_PATH);
  return {
    ...given,
    spec,
    image: imageName,
    cwd: spec.cwd,
    home,
    hostUser,
    startsAsRoot: image.user === null,
    init: true,
    mounts: [
      ...planMounts({ volumes: spec.mounts, callerDirectory: null, kept, home }),
      ...(daemonProgram === null ? [] : [{ source: daemonProgram, target: DAEMON_PATH, readOnly: true }]),
      { source: runDir, target: RUN_PATH, readOnly: false },
    ],
    command:
      daemonProgram === null
        ? STAY_COMMAND
        : [...serve, ...(spec.idleStopSeconds > 0 ? ["--idle-stop", String(spec.idleStopSeconds)] : [])],
  };
}

/** `given`: by the user's own variables, which no other HOME gets past. */
function homeOf({ home, user }: ImageFacts, { hostUser, given }: { hostUser: boolean; given: string | undefined }): string {
  if (given?.startsWith("/")) return given;
  if (home !== null) return home;
  return user === null || hostUser ? "/root" : `/home/${user.split(":")[0]}`;
}

/** S6: null, with a word about it, on a platform whose users have no numbers. */
export function callerIds({ log, user = userInfo() }: { log: Logger; user?: { uid: number; gid: number } }): RunRequest["hostUser"] {
  if (user.uid >= 0 && user.gid >= 0) return { uid: user.uid, gid: user.gid };
  log.warn("docker_run_as_host_user has no effect: this platform does not expose POSIX uid/gid, so the image's own user is taken");
  return null;
}
