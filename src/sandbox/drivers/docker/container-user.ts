/** @module As whom a container runs: by the name that was given for it, and by the numbers that its own files have for that name. */
import { HoldfastError } from "../../../base/errors.ts";
import type { Abortable } from "../../driver.ts";
import type { ImageFacts } from "./containers.ts";
import type { Engine } from "./engine.ts";
import { reasonOf } from "./engine-error.ts";
import { runHelper } from "./helper-container.ts";
import { splitShortFlags } from "./short-flags.ts";

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

/** As on an engine's command line; null: root. The user's own arguments come last there, and the last one wins. */
export function userOf(
  image: ImageFacts,
  { hostUser, extraArgs }: { hostUser: UserIds | null; extraArgs: readonly string[] },
): string | null {
  const args = splitShortFlags(extraArgs);
  const given = args.flatMap((arg, index) => {
    const [, flag, attached] = /^(--user|-u)(?:=(.*))?$/s.exec(arg) ?? [];
    return flag === undefined ? [] : [attached ?? args[index + 1] ?? ""];
  });
  return given.at(-1) ?? (hostUser ? `${hostUser.uid}:${hostUser.gid}` : image.user);
}

/** Null when it is a name: only the files of the image say which numbers that is. */
export function idsIn(user: string | null): UserIds | null {
  if (user === null) return { uid: 0, gid: 0 };
  const [, uid, gid = uid] = /^(\d+)(?::(\d+))?$/.exec(user) ?? [];
  return uid === undefined ? null : { uid: Number(uid), gid: Number(gid) };
}

const LIMIT_MS = 30_000;

export type LookUpUser = (user: string | null, image: ImageFacts, options: Abortable) => Promise<UserIds>;

/** A name is looked up by the image's own `id`, once for as long as we run: it takes a container of its own. */
export function createUserLookup(engine: () => Promise<Engine>): LookUpUser {
  const known = new Map<string, UserIds>();
  const ask = async (user: string, image: ImageFacts, { signal }: Abortable): Promise<UserIds> => {
    const { code, stdout, stderr } = await runHelper(await engine(), { image: image.id, user, argv: ["id"], limitMs: LIMIT_MS, signal });
    const [, uid, gid] = /^uid=(\d+)\S* gid=(\d+)/.exec(stdout) ?? [];
    if (code === 0 && uid !== undefined) return { uid: Number(uid), gid: Number(gid) };
    throw new HoldfastError("sandbox-create-failed", `the image does not say which numbers its user ${user} has: ${reasonOf(stderr)}`, {
      hint: `name the user by its numbers, in the image or with \`--user UID:GID\` in terminal.docker_extra_args`,
      facts: { user, image: image.id },
    });
  };
  return async (user, image, options) => {
    const key = `${image.id} ${user}`;
    const ids = idsIn(user) ?? known.get(key) ?? (await ask(user ?? "", image, options));
    known.set(key, ids);
    return ids;
  };
}
