import { expect, test } from "vitest";
import { weakeningArgs } from "./weakening-args.ts";

test.each([
  [["--privileged"]],
  [["--privileged=true"]],
  [["--cap-add", "SYS_ADMIN"]],
  [["--cap-add=ALL"]],
  [["--cap-add=setuid"]],
  [["--security-opt", "seccomp=unconfined"]],
  [["--security-opt=apparmor:unconfined"]],
  [["--security-opt", "no-new-privileges:false"]],
  [["--security-opt", "no-new-privileges=0"]],
  [["--security-opt", "label=disable"]],
  [["--pid=host"]],
  [["--pid", "container:x"]],
  [["--ipc=host"]],
  [["--userns", "host"]],
  [["--network=host"]],
  [["--net", "host"]],
  [["--device", "/dev/kvm"]],
  [["--gpus", "all"]],
  [["--pids-limit", "-1"]],
  [["--pids-limit=0"]],
  [["--pids-limit", "5000"]],
  [["--volumes-from", "other"]],
  [["-v", "/:/host"]],
  [["-v=/etc:/host-etc"]],
  [["--volume=/var/run/docker.sock:/var/run/docker.sock"]],
  [["-v", "/run/user/1000/podman/podman.sock:/s"]],
  [["--mount", "type=bind,source=/,target=/host"]],
  [["--mount=type=bind,src=/var/run/docker.sock,dst=/s"]],
  [["--tmpfs", "/run:rw,exec"]],
  [["--tmpfs", "/tmp:suid"]],
  [["--cgroup-parent", "/"]],
])("%j weaken the hardening", (args) => expect(weakeningArgs(args)).toEqual([args.join(" ")]));

test("short options that are glued together are taken apart", () => {
  expect(weakeningArgs(["-v/:/host:ro"])).toEqual(["-v=/:/host:ro"]);
  expect(weakeningArgs(["-itv", "/etc/../:/host"])).toEqual(["-v /etc/../:/host"]);
});

test.each([
  [["--privileged=false"]],
  [["--cap-add", "CHOWN"]],
  [["--cap-add=cap_fowner"]],
  [["--cap-drop", "CHOWN"]],
  [["--security-opt", "no-new-privileges"]],
  [["--security-opt", "no-new-privileges:true"]],
  [["--security-opt", "seccomp=/p.json"]],
  [["--pid=private"]],
  [["--network", "mine"]],
  [["--pids-limit", "100"]],
  [["-v", "/data:/data"]],
  [["-v", "cache:/root/.cache"]],
  [["--mount", "type=bind,source=/data,target=/"]],
  [["--tmpfs", "/tmp:exec"]],
  [["--tmpfs", "/run:rw,noexec"]],
  [["--hostname", "--x"]],
  [["--constructor", "x", "host", "--", ""]],
  [[]],
])("%j do not", (args) => expect(weakeningArgs(args)).toEqual([]));

test("all of them are found, each with its value", () => {
  expect(weakeningArgs(["--shm-size", "1g", "--pid", "host", "--privileged", "--cap-add=NET_ADMIN", "--cap-add"])).toEqual([
    "--pid host",
    "--privileged",
    "--cap-add=NET_ADMIN",
    "--cap-add ",
  ]);
});

test("a network for a sandbox that is to have none weakens it", () => {
  expect(weakeningArgs(["--network", "bridge"], { network: false })).toEqual(["--network bridge"]);
  expect(weakeningArgs(["--network=none"], { network: false })).toEqual([]);
});
