/**
 * @module Real Podman for tests, with storage, state and settings of its own. It has no engine that runs: the `podman` written here is
 * Debian's with those settings. The images lie unpacked in the cache, in a store that it only reads.
 */
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { engineCommands, loadImages, type TestEngine } from "./engine.ts";
import { imageArchive, imageCache } from "./engine-image.ts";
import { enginePlace, sharedPlace } from "./engine-place.ts";
import { withFileLock } from "./file-lock.ts";

const INITS = ["/usr/bin/catatonit", "/usr/libexec/podman/catatonit", "/usr/bin/docker-init"];

let shared: Promise<TestEngine> | undefined;

/** The Podman of this run, with the images of engine-image.ts. */
export function testPodman(): Promise<TestEngine> {
  shared ??= findPodman();
  return shared;
}

async function findPodman(): Promise<TestEngine> {
  const place = await sharedPlace();
  const store = await imageStore();
  const directory = join(place, "podman");
  return await withFileLock(join(place, "podman.lock"), async () =>
    existsSync(join(directory, "podman")) ? podmanIn(directory) : await preparePodman(directory, [store]),
  );
}

/** A Podman of the caller's own, which knows no other containers. */
export async function privatePodman(): Promise<TestEngine & AsyncDisposable> {
  const store = await imageStore();
  const place = await enginePlace();
  const engine = await preparePodman(join(place.path, "podman"), [store]);
  return { ...engine, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() };
}

async function imageStore(): Promise<string> {
  const archive = await imageArchive();
  const store = join(imageCache(), "podman-store");
  return await withFileLock(join(imageCache(), "podman.lock"), async () => {
    if (!existsSync(store)) await makeStore(store, archive);
    return store;
  });
}

/** Images are unpacked in a place of their own and moved: a half-made store is never seen. */
async function makeStore(store: string, archive: string): Promise<void> {
  const work = await mkdtemp(join(dirname(store), "making-"));
  try {
    const engine = await preparePodman(join(work, "podman"), []);
    await loadImages(engine, archive);
    await rename(join(work, "podman/root"), store);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function preparePodman(directory: string, stores: readonly string[]): Promise<TestEngine> {
  // Not recursive: where the keeper has removed the place, nothing may come back.
  await mkdir(directory);
  await Promise.all(["root", "run", "tmp", "net"].map((name) => mkdir(join(directory, name))));
  const files = settings(directory, stores);
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(directory, name), text)));
  const wrapper = join(directory, "podman.new");
  await writeFile(wrapper, wrapperScript(directory));
  await chmod(wrapper, 0o755);
  await rename(wrapper, join(directory, "podman"));
  return podmanIn(directory);
}

function podmanIn(directory: string): TestEngine {
  const binary = join(directory, "podman");
  return { binary, host: "", env: {}, ...engineCommands(binary, {}) };
}

/** Some kernels refuse the limits that Podman sets of itself, and its locks in shared memory would be those of the user's Podman. */
function settings(directory: string, stores: readonly string[]): Record<string, string> {
  const path = (name: string) => JSON.stringify(join(directory, name));
  return {
    "containers.conf": `[containers]
default_ulimits = []
init_path = ${JSON.stringify(INITS.find((init) => existsSync(init)) ?? INITS[0])}
log_driver = "k8s-file"
netns = "none"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
runtime = "runc"
tmp_dir = ${path("tmp")}
[network]
network_config_dir = ${path("net")}
`,
    "storage.conf": `[storage]
driver = "overlay"
graphroot = ${path("root")}
runroot = ${path("run")}
[storage.options]
additionalimagestores = ${JSON.stringify(stores)}
[storage.options.overlay]
skip_mount_home = "true"
`,
    "registries.conf": "unqualified-search-registries = []\n",
  };
}

/** The keeper knows a `podman` of this place by its `--tmpdir`. */
function wrapperScript(directory: string): string {
  const variables = {
    CONTAINERS_CONF: "containers.conf",
    CONTAINERS_STORAGE_CONF: "storage.conf",
    CONTAINERS_REGISTRIES_CONF: "registries.conf",
  };
  const lines = Object.entries(variables).map(([name, file]) => `export ${name}='${join(directory, file)}'`);
  return [
    "#!/bin/sh",
    ...lines,
    "unset CONTAINER_HOST CONTAINER_CONNECTION",
    `exec /usr/bin/podman --tmpdir '${join(directory, "tmp")}' "$@"`,
    "",
  ].join("\n");
}
