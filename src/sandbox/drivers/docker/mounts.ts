/** @module Which host directories a container sees, and where. Pure: whoever calls it has resolved the paths. */
import { posix } from "node:path";
import { HoldfastError } from "../../../base/errors.ts";
import type { Mount } from "../../spec.ts";
import { VOLUME_OPTION } from "./options.ts";

export const WORKSPACE = "/workspace";

const VOLUME_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;
const BAD_FORM =
  "each is host:container, with :ro or other options of the engine behind it; both parts absolute, the host's may begin with ~/ or be the name of a volume";

/**
 * One entry of `docker_volumes`, `host:container[:OPTION,…]`. As with the engines' own `-v`, a host part without a slash names a volume.
 * @throws `config-bad-value`, naming the entry
 */
export function parseVolume(entry: string, { home }: { home: string }): Mount {
  const [host = "", target = "", words = "rw", ...rest] = entry.split(":");
  const source = expandHome(host, home);
  const place = normalPath(target);
  const all = words.split(",");
  const options = all.filter((word) => word !== "ro" && word !== "rw");
  const wellFormed = rest.length === 0 && all.every((word) => VOLUME_OPTION.test(word)) && isSource(source) && target.startsWith("/");
  if (!wellFormed || place === "/")
    throw new HoldfastError("config-bad-value", `${JSON.stringify(entry)} in docker_volumes is not a volume`, {
      hint: BAD_FORM,
      facts: { key: "docker_volumes", entry },
    });
  return {
    source: isPath(source) ? normalPath(source) : source,
    target: place,
    readOnly: all.includes("ro"),
    ...(options.length > 0 && { options }),
  };
}

export interface MountPlan {
  /** What the user asked for, entry by entry. */
  readonly volumes: readonly Mount[];
  /** The caller's directory, when it is to be the workspace. */
  readonly callerDirectory: string | null;
  /** The sandbox's own directories on the host, when its files are kept. */
  readonly kept: { readonly workspace: string; readonly home: string } | null;
  /** The home directory of the container's user. */
  readonly home: string;
}

/**
 * All mounts of files that the user can know of, at most one for each place: what was asked for by its path wins.
 * @throws `config-bad-value` when two volumes are to be in one place
 */
export function planMounts({ volumes, callerDirectory, kept, home }: MountPlan): Mount[] {
  const byTarget = new Map<string, Mount>();
  for (const volume of volumes) {
    if (byTarget.has(volume.target))
      throw new HoldfastError("config-bad-value", `two entries of docker_volumes are both mounted at ${volume.target}`, {
        hint: "leave one of them out",
        facts: { key: "docker_volumes", target: volume.target },
      });
    byTarget.set(volume.target, volume);
  }
  const workspace = callerDirectory ?? kept?.workspace;
  if (workspace !== undefined && !byTarget.has(WORKSPACE))
    byTarget.set(WORKSPACE, { source: workspace, target: WORKSPACE, readOnly: false });
  if (kept !== null && !byTarget.has(home)) byTarget.set(home, { source: kept.home, target: home, readOnly: false });
  return [...byTarget.values()];
}

export interface HomeGuard {
  readonly realHome: string;
  /** Of all profiles. */
  readonly holdfastHome: string;
  readonly allowed: boolean;
}

/**
 * Refuses the root, the home directory and whatever contains it: one careless command would reach everything its owner has (S8).
 * Both paths are free of links, else a link to the home directory would get past.
 * @throws `config-bad-value`
 */
export function guardHome(realSource: string, { realHome, holdfastHome, allowed }: HomeGuard): void {
  const reaches = (path: string) => contains(normalPath(realSource), normalPath(path));
  if (allowed || !(reaches(realHome) || reaches(holdfastHome))) return;
  const homes = reaches(realHome) ? "the whole home directory" : "Holdfast's own directory, with the secrets of all profiles";
  const what = normalPath(realSource) === "/" ? "the whole file system" : homes;
  throw new HoldfastError("config-bad-value", `mounting ${realSource} would give a sandbox ${what}`, {
    hint: "mount a directory inside it, or set docker_allow_home_mount to true",
    facts: { source: realSource, home: realHome },
  });
}

/** @throws `config-bad-value` for a path that the engines' command lines cannot express. */
export function mountArgs({ source, target, readOnly, options = [] }: Mount): string[] {
  const commas = /[,"]/.test(source + target);
  if (commas && (source + target).includes(":"))
    throw new HoldfastError("config-bad-value", `${source} cannot be mounted: its path has both a colon and a comma or quote`, {
      hint: "rename the directory",
      facts: { source, target },
    });
  // `--mount` says when a directory has gone meanwhile, where `-v` would make it, owned by root; but it splits at commas and has not all options.
  if (commas || options.length > 0) {
    const words = [...(readOnly ? ["ro"] : []), ...options];
    return ["-v", [source, target, ...(words.length > 0 ? [words.join(",")] : [])].join(":")];
  }
  const type = isPath(source) ? "bind" : "volume";
  return ["--mount", `type=${type},source=${source},target=${target}${readOnly ? ",readonly" : ""}`];
}

function contains(directory: string, path: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

function expandHome(path: string, home: string): string {
  return path === "~" || path.startsWith("~/") ? home + path.slice(1) : path;
}

function isSource(source: string): boolean {
  return isPath(source) || VOLUME_NAME.test(source);
}

function isPath(source: string): boolean {
  return source.startsWith("/");
}

/** Without `..`, doubled or trailing slashes: two spellings of one place must not pass for two. */
function normalPath(path: string): string {
  return posix.normalize(path).replace(/(?<=.)\/+$/, "");
}
