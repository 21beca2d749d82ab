/** @module Options of the docker backend (docker and podman). */
import * as z from "zod/mini";
import { option } from "../../../base/option.ts";
import { LONGEST_SECONDS } from "../../options.ts";

const variableName = z.string().check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/));
/** What an engine takes behind the path of a volume: Docker and Podman know different ones, and refuse the other's. */
export const VOLUME_OPTION =
  /^(?:ro|rw|z|Z|U|O|r?(?:shared|slave|private|unbindable|bind)|consistent|cached|delegated|(?:no)?(?:copy|exec|dev|suid)|idmap(?:=[^:,]+)?)$/;
const volume = z.string().check(
  z.refine((entry) => {
    const [source, target = "", options = "rw", ...rest] = entry.split(":");
    return source !== "" && target.startsWith("/") && rest.length === 0 && options.split(",").every((word) => VOLUME_OPTION.test(word));
  }),
);

export const options = {
  docker_image: option(z.string().check(z.regex(/^[^-\s]/)), {
    default: "debian:bookworm",
    help: "Docker: image of new sandboxes",
    expected: "the name of an image",
  }),
  docker_mount_cwd_to_workspace: option(z.boolean(), {
    default: false,
    help: "Docker: bind the caller's directory to /workspace",
  }),
  docker_allow_home_mount: option(z.boolean(), {
    default: false,
    help: "Docker: allow binding / or the whole home directory into a sandbox",
  }),
  docker_run_as_host_user: option(z.boolean(), {
    default: false,
    help: "Docker: run as the caller's own user and group instead of the image's user",
  }),
  docker_forward_env: option(z.array(variableName), {
    default: [],
    help: "Docker: names of variables taken from the caller, else from the profile's .env; win over docker_env; a bad name is left out with a warning",
    expected: "a list of variable names (letters, digits and `_`)",
    skipsBadEntries: true,
  }),
  docker_env: option(z.record(variableName, z.string()), {
    default: {},
    help: "Docker: variables set in the sandbox; entries with a bad name or a value that is not a scalar are left out with a warning",
  }),
  docker_volumes: option(z.array(volume), {
    default: [],
    help: "Docker: directories bound into the sandbox, each host:container, with :ro or other options of the engine behind it; one that is missing is made",
    expected: "a list of host:container or host:container:ro, the container's part absolute",
  }),
  docker_extra_args: option(z.array(z.string()), {
    default: [],
    help: "Docker: further arguments for `docker run`, put last",
  }),
  docker_network: option(z.boolean(), {
    default: true,
    help: "Docker: give sandboxes a network; false = none at all",
  }),
  docker_persist_across_processes: option(z.boolean(), {
    default: true,
    help: "Docker: keep a sandbox when the process that made it ends, and find it again",
  }),
  docker_on_drift: option(z.enum(["warn", "recreate", "reuse"]), {
    default: "warn",
    help: "Docker: when settings changed since a sandbox was made, say so (warn), replace it when not busy (recreate) or keep it (reuse)",
  }),
  docker_orphan_reaper: option(z.boolean(), {
    default: true,
    help: "Docker: remove our own containers of this profile that ended long ago, once per process",
  }),
  docker_pull_timeout: option(z.int().check(z.minimum(1), z.maximum(LONGEST_SECONDS)), {
    default: 600,
    help: "Docker: seconds that pulling an image may take",
  }),
};
