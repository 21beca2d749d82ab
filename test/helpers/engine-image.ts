/**
 * @module The images that tests run, made once from Debian's packages and kept in the user's cache by what they are made of, for all clones:
 * one archive with all of them, which Docker and Podman both load.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { withFileLock } from "./file-lock.ts";

/** Root, bash, procps and git, and a user `someone` (1000) whom nobody is yet. */
export const BASE_IMAGE = "holdfast-test:base";
/** Has `sh` but neither bash nor git. */
export const BUSYBOX_IMAGE = "holdfast-test:busybox";
/** The base with an init of its own, which sets OWN_INIT=1 for what it runs. */
export const ENTRYPOINT_IMAGE = "holdfast-test:entrypoint";
/** The base as `someone`, in their home. */
export const USER_IMAGE = "holdfast-test:user";
/** Says that it is for another architecture, and its programs are. */
export const WRONG_ARCH_IMAGE = "holdfast-test:wrong-arch";

const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "holdfast-tests/images");
const UNUSED_MS = 14 * 86_400_000;
const ARCHITECTURES = { here: process.arch === "arm64" ? "arm64" : "amd64", other: process.arch === "arm64" ? "amd64" : "arm64" };
const [ARM64, X86_64] = ["267", "076"];

/** Leaves one tar per layer. The other architecture is the third word of a program's ELF header. */
const LAYERS = `
set -eu
slim='--dpkgopt=path-exclude=/usr/share/doc/* --dpkgopt=path-exclude=/usr/share/locale/* --dpkgopt=path-exclude=/usr/share/man/*'
set -f
mmdebstrap $slim --variant=essential --include=bash,procps,git \\
  --customize-hook='echo someone:x:1000:1000::/home/someone:/bin/bash >>"$1/etc/passwd"' \\
  --customize-hook='echo someone:x:1000: >>"$1/etc/group"' \\
  --customize-hook='mkdir -m 755 "$1/home/someone" && chown 1000:1000 "$1/home/someone"' \\
  bookworm base.tar
mmdebstrap --variant=extract --include=busybox-static bookworm busybox-static.tar
tar -xf busybox-static.tar ./bin/busybox

pack() { tar --numeric-owner --owner=0 --group=0 -C "$1" -cf "$1.tar" .; }
for layer in busybox wrong-arch; do
  mkdir -p "$layer/bin" "$layer/etc" "$layer/root"
  mkdir -m 1777 "$layer/tmp"
  echo root:x:0:0::/root:/bin/sh >"$layer/etc/passwd"
  cp bin/busybox "$layer/bin/busybox"
  for name in sh cat chmod cp echo env id ls mkdir mv ps rm sleep sync test true uname; do ln -s busybox "$layer/bin/$name"; done
done
printf '\\${process.arch === "arm64" ? X86_64 : ARM64}\\0' | dd of=wrong-arch/bin/busybox bs=1 seek=18 conv=notrunc status=none
mkdir -p entrypoint/usr/local/bin
printf '#!/bin/sh\\nexport OWN_INIT=1\\nexec "$@"\\n' >entrypoint/usr/local/bin/own-init
chmod 755 entrypoint/usr/local/bin/own-init
for layer in busybox wrong-arch entrypoint; do pack "$layer"; done
`;

interface ImageRecipe {
  readonly layers: readonly string[];
  readonly config: Readonly<Record<string, unknown>>;
  readonly architecture: string;
}

const BASE_CONFIG = { Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], Cmd: ["bash"] };
const here = (layers: string[], config: Record<string, unknown>) => ({ layers, config, architecture: ARCHITECTURES.here });
const IMAGES: Readonly<Record<string, ImageRecipe>> = {
  [BASE_IMAGE]: here(["base"], BASE_CONFIG),
  [BUSYBOX_IMAGE]: here(["busybox"], { Env: ["PATH=/bin"], Cmd: ["sh"] }),
  [ENTRYPOINT_IMAGE]: here(["base", "entrypoint"], { ...BASE_CONFIG, Entrypoint: ["/usr/local/bin/own-init"] }),
  [USER_IMAGE]: here(["base"], {
    ...BASE_CONFIG,
    User: "1000:1000",
    Env: [...BASE_CONFIG.Env, "HOME=/home/someone"],
    WorkingDir: "/home/someone",
  }),
  [WRONG_ARCH_IMAGE]: { layers: ["wrong-arch"], config: { Env: ["PATH=/bin"], Cmd: ["sh"] }, architecture: ARCHITECTURES.other },
};

export const TEST_IMAGES: readonly string[] = Object.keys(IMAGES);

/** Where everything made from these recipes is kept. */
export function imageCache(): string {
  const recipe = createHash("sha256").update(LAYERS).update(JSON.stringify(IMAGES)).digest("hex");
  return join(CACHE, recipe.slice(0, 12));
}

/** The archive for `docker load` and `podman load`. The first time takes half a minute and Debian's packages. */
export async function imageArchive(): Promise<string> {
  const archive = join(imageCache(), "images.tar");
  await mkdir(imageCache(), { recursive: true });
  const now = new Date();
  await utimes(imageCache(), now, now);
  if (existsSync(archive)) return archive;
  return await withFileLock(join(CACHE, "lock"), async () => {
    if (!existsSync(archive)) {
      await makeArchive(archive);
      await removeUnused(now.getTime());
    }
    return archive;
  });
}

/** What older recipes made is large, and no clone asks for it any more. */
async function removeUnused(now: number): Promise<void> {
  const recipes = (await readdir(CACHE)).filter((name) => /^[0-9a-f]{12}$/.test(name)).map((name) => join(CACHE, name));
  for (const recipe of recipes) {
    if (now - (await stat(recipe)).mtimeMs > UNUSED_MS) await rm(recipe, { recursive: true, force: true });
  }
}

async function makeArchive(archive: string): Promise<void> {
  const work = await mkdtemp(join(imageCache(), "making-"));
  try {
    await promisify(execFile)("sh", ["-c", LAYERS], { cwd: work, env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` } });
    const names = [...new Set(Object.values(IMAGES).flatMap(({ layers }) => layers))];
    const digests = new Map(await Promise.all(names.map(async (name) => [name, await digestOf(join(work, `${name}.tar`))] as const)));
    const files = await Promise.all(Object.entries(IMAGES).map(([tag, recipe]) => writeConfig(work, { tag, recipe, digests })));
    await writeFile(join(work, "manifest.json"), JSON.stringify(files));
    const parts = ["manifest.json", ...files.map(({ Config }) => Config), ...names.map((name) => `${name}.tar`)];
    await promisify(execFile)("tar", ["-C", work, "-cf", join(work, "images.tar"), ...parts]);
    await rename(join(work, "images.tar"), archive);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** One entry of the archive's manifest. The file must be named after its own digest. */
async function writeConfig(work: string, { tag, recipe, digests }: { tag: string; recipe: ImageRecipe; digests: Map<string, string> }) {
  const text = JSON.stringify({
    created: "2024-01-01T00:00:00Z",
    architecture: recipe.architecture,
    os: "linux",
    config: recipe.config,
    rootfs: { type: "layers", diff_ids: recipe.layers.map((layer) => `sha256:${digests.get(layer)}`) },
  });
  const name = `${createHash("sha256").update(text).digest("hex")}.json`;
  await writeFile(join(work, name), text);
  return { Config: name, RepoTags: [tag], Layers: recipe.layers.map((layer) => `${layer}.tar`) };
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}
