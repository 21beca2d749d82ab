import { expect, test } from "vitest";
import { classify, reasonOf } from "./engine-error.ts";

const ID = "5899b0779187ef23582f58c0f8771ad430b4747249f61b2b5ae1d862eceee81d";
const SOCKET = "unix:///var/run/docker.sock";

// What the engines really print: Docker 20.10 and 28.2 with an engine 20.10, Podman 4.3; a few of Docker 29 and Podman 5.
test.each([
  ["no-such-container", "Error response from daemon: No such container: hd2-none\nError: failed to start containers: hd2-none\n"],
  ["no-such-container", "Error: No such object: hd2-none\n"],
  ["no-such-container", 'Error: no container with name or ID "hd2-none" found: no such container\n'],
  ["no-such-container", "Error: inspecting object: no such container hd2-none\n"],
  ["no-such-container", 'Error: inspecting object: no such object: "hd2-none"\n'],
  [
    "name-taken",
    `docker: Error response from daemon: Conflict. The container name "/hd2-a" is already in use by container "${ID}". You have to remove (or rename) that container to be able to reuse that name.\n\nRun 'docker run --help' for more information\n`,
  ],
  [
    "name-taken",
    `Error response from daemon: Error when allocating new name: Conflict. The container name "/hd2-a" is already in use by container "${ID}". You have to remove (or rename) that container to be able to reuse that name.\nError: failed to rename container named hd2-b\n`,
  ],
  [
    "name-taken",
    `Error: creating container storage: the container name "hd2-a" is already in use by ${ID}. You have to remove that container to be able to reuse that name: that name is already in use\n`,
  ],
  ["name-taken", `Error: renaming container ${ID}: name hd2-a already in use, cannot rename container ${ID}: container already exists\n`],
  ["being-removed", `Error response from daemon: removal of container ${ID} is already in progress\n`],
  ["being-removed", "Error response from daemon: container is marked for removal and cannot be started\n"],
  ["not-running", `Error response from daemon: Container ${ID} is not running\n`],
  ["not-running", `Error response from daemon: Cannot kill container: hd2-b: Container ${ID} is not running\n`],
  ["not-running", "Error response from daemon: Container hd2-a is paused, unpause the container before exec\n"],
  ["not-running", "Error: can only create exec sessions on running containers: container state improper\n"],
  ["not-running", `Error: can only kill running containers. ${ID} is in state created: container state improper\n`],
  ["not-running", "Error: top can only be used on running containers\n"],
  ["no-such-image", "docker: Error response from daemon: No such image: nope:none.\nSee 'docker run --help'.\n"],
  ["no-such-image", "Error response from daemon: no such image: nope:none: No such image: nope:none\n"],
  ["no-such-image", "Error: nope:none: image not known\n"],
  ["no-such-image", "Error response from daemon: manifest for debian:nope not found: manifest unknown: manifest unknown\n"],
  ["no-such-image", "Error response from daemon: pull access denied for nope, repository does not exist or may require 'docker login'\n"],
  [
    "no-such-image",
    'Error: short-name "nope:none" did not resolve to an alias and no unqualified-search registries are defined in "/etc/containers/registries.conf"\n',
  ],
  [
    "not-permitted",
    `WARNING: Error loading config file: open /root/.docker/config.json: permission denied\npermission denied while trying to connect to the Docker daemon socket at ${SOCKET}: Get "http://%2Fvar%2Frun%2Fdocker.sock/v1.50/version": dial unix /var/run/docker.sock: connect: permission denied\n`,
  ],
  ["not-permitted", `permission denied while trying to connect to the docker API at ${SOCKET}\n`],
  ["daemon-down", `Cannot connect to the Docker daemon at ${SOCKET}. Is the docker daemon running?\n`],
  ["daemon-down", "Cannot connect to the Docker daemon at tcp://127.0.0.1:1. Is the docker daemon running?\n"],
  [
    "daemon-down",
    `failed to connect to the docker API at ${SOCKET}; check if the path is correct and if the daemon is running: dial unix /var/run/docker.sock: connect: no such file or directory\n`,
  ],
  ["daemon-down", 'error during connect: Post "http://%2Fx.sock/v1.41/containers/create": EOF\n'],
  ["other", "docker: Error response from daemon: Duplicate mount point: /tmp\n\nRun 'docker run --help' for more information\n"],
  ["other", "docker: Error response from daemon: Ports are not available: listen tcp 0.0.0.0:80: bind: address already in use\n"],
  ["other", "WARNING: Error loading config file: open /root/.docker/config.json: permission denied\n"],
  ["other", "Error: container-init binary not found on the host: stat /usr/libexec/podman/catatonit: no such file or directory\n"],
  ["other", ""],
])("S3 %s: %s", (failure, stderr) => expect(classify(stderr)).toBe(failure));

test("the reason is the line that matters, without what the client puts around it", () => {
  expect(
    reasonOf("docker: Error response from daemon: Duplicate mount point: /tmp\n\nRun 'docker run --help' for more information\n"),
  ).toBe("Duplicate mount point: /tmp");
  const level = 'time="2026-11-15T07:46:07Z" level=error msg="[graphdriver] prior storage driver overlay failed"\n';
  expect(reasonOf(`${level}Error: storage option overlay.size only supported for backingFS XFS. Found extfs\n`)).toBe(
    "storage option overlay.size only supported for backingFS XFS. Found extfs",
  );
  expect(reasonOf("WARNING: Error loading config file: permission denied\nno space left\n")).toBe("no space left");
  expect(reasonOf("\n")).toBe("it says nothing");
});
