/** @module From a spec and an image to everything that the command line of a container says. */
import { userInfo } from "node:os";
import type { SandboxSpec } from "../../spec.ts";
import { SECRET_FILE } from "../shared/daemon-socket.ts";
import type { RunRequest } from "./argv.ts";
import { DAEMON_PATH, RUN_PATH, SOCKET_PATH } from "./connect.ts";
import type { ImageFacts } from "./containers.ts";
import { planMounts } from "./mounts.ts";
import type { Place } from "./place.ts";

export interface RunPlan extends Pick<RunRequest, "name" | "labels" | "cidFile" | "quirks"> {
  readonly spec: SandboxSpec;
  readonly image: ImageFacts;
  readonly imageName: string;
  readonly place: Place;
  /** What is shared with the daemon, on the host. */
  readonly runDir: string;
  /** On the host. */
  readonly daemonProgram: string;
}

export function planRun({ name, labels, spec, image, imageName, place, runDir, daemonProgram, cidFile, quirks }: RunPlan): RunRequest {
  const home = homeOf(image, spec);
  const caller = spec.hostUser ? callerIds() : null;
  const kept = spec.keepFiles ? { workspace: place.workspace, home: place.home } : null;
  const serve = [DAEMON_PATH, "serve", "--socket", SOCKET_PATH, "--state", RUN_PATH, "--secret-file", `${RUN_PATH}/${SECRET_FILE}`];
  return {
    name,
    labels,
    spec,
    image: imageName,
    cwd: spec.cwd,
    home,
    hostUser: caller,
    userIds: caller ?? numbersOf(image.user),
    startsAsRoot: image.user === null,
    init: true,
    mounts: [
      ...planMounts({ volumes: spec.mounts, callerDirectory: null, kept, home }),
      { source: daemonProgram, target: DAEMON_PATH, readOnly: true },
      { source: runDir, target: RUN_PATH, readOnly: false },
    ],
    diskSupported: false,
    cidFile,
    command: [...serve, ...(spec.idleStopSeconds > 0 ? ["--idle-stop", String(spec.idleStopSeconds)] : [])],
    quirks,
  };
}

function homeOf({ home, user }: ImageFacts, { hostUser }: SandboxSpec): string {
  if (home !== null) return home;
  return user === null || hostUser ? "/root" : `/home/${user.split(":")[0]}`;
}

function callerIds(): { uid: number; gid: number } {
  const { uid, gid } = userInfo();
  return { uid, gid };
}

/** Null when the image names its user: only its own files say which numbers that is. */
function numbersOf(user: string | null): { uid: number; gid: number } | null {
  if (user === null) return { uid: 0, gid: 0 };
  const [, uid, gid = uid] = /^(\d+)(?::(\d+))?$/.exec(user) ?? [];
  return uid === undefined ? null : { uid: Number(uid), gid: Number(gid) };
}
