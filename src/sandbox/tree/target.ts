/** @module The directory of the host that an archive is unpacked into, entered step by step and never through a link. */
import { HoldfastError } from "../../base/errors.ts";
import { protocolError } from "../daemon/wire.ts";
import { type HeldDirectory, holdInside, holdRoot, makeInside, putInside, treeError } from "./directory.ts";

const DEEPEST = 512;

interface DirectoryFacts {
  readonly mode: number;
  /** Seconds. */
  readonly mtime: number;
}

export interface Target extends AsyncDisposable {
  makeDirectory(parts: readonly string[], facts: DirectoryFacts): Promise<void>;
  /** `make` gets a path to make something at, which then takes the place of whatever had the name; but not of a directory. */
  put(parts: readonly string[], make: (path: string) => Promise<void>): Promise<void>;
  /** Gives the new directories their modes and times, for which they have to be full. */
  finish(): Promise<void>;
}

export async function createTarget(root: string): Promise<Target> {
  const top = await holdRoot(root);
  const seen = new Set<string>();
  const made: { readonly parts: readonly string[]; readonly facts: DirectoryFacts }[] = [];
  // The directories on the way to the last entry: most archives stay in one for a while.
  let held: { readonly name: string; readonly directory: HeldDirectory }[] = [];

  const goTo = async (parts: readonly string[]): Promise<HeldDirectory> => {
    if (parts.length > DEEPEST) throw new HoldfastError("too-large", `${parts.join("/")} is nested deeper than ${DEEPEST} directories`);
    let same = 0;
    while (same < parts.length && held[same]?.name === parts[same]) same++;
    await release(same);
    for (const name of parts.slice(same)) {
      const parent = held.at(-1)?.directory ?? top;
      await makeInside(parent, name);
      try {
        held.push({ name, directory: await holdInside(parent, name) });
      } catch (error) {
        throw treeError("write into", parts.slice(0, held.length + 1).join("/"), error);
      }
    }
    return held.at(-1)?.directory ?? top;
  };
  const release = async (from: number) => {
    const rest = held.slice(from);
    held = held.slice(0, from);
    for (const { directory } of rest.reverse()) await directory[Symbol.asyncDispose]();
  };
  /** The last part, once per archive: what came first must not be changed by what comes later. */
  const claim = (parts: readonly string[]): string => {
    const path = parts.join("/");
    if (seen.has(path)) throw protocolError(`an archive that holds ${JSON.stringify(path)} twice`);
    seen.add(path);
    return parts.at(-1) ?? "";
  };

  return {
    async makeDirectory(parts, facts) {
      const name = claim(parts);
      const parent = await goTo(parts.slice(0, -1));
      if (await makeInside(parent, name)) made.push({ parts, facts });
      await goTo(parts);
    },
    async put(parts, make) {
      const name = claim(parts);
      await putInside(await goTo(parts.slice(0, -1)), name, make);
    },
    async finish() {
      // The deepest first: a directory that may no longer be entered is done with.
      for (const { parts, facts } of made.toSorted((a, b) => b.parts.length - a.parts.length)) {
        const { handle } = await goTo(parts);
        await handle.chmod(facts.mode);
        await handle.utimes(facts.mtime, facts.mtime);
      }
    },
    async [Symbol.asyncDispose]() {
      await release(0);
      await top[Symbol.asyncDispose]();
    },
  };
}
