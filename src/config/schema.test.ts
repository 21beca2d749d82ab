import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { renderConfigReference } from "../../scripts/gen-config-docs.ts";
import { readOption } from "../base/read-option.ts";
import { options as apptainerOptions } from "../sandbox/drivers/apptainer/options.ts";
import { options as daytonaOptions } from "../sandbox/drivers/daytona/options.ts";
import { options as dockerOptions } from "../sandbox/drivers/docker/options.ts";
import { options as modalOptions } from "../sandbox/drivers/modal/options.ts";
import { options as sshOptions } from "../sandbox/drivers/ssh/options.ts";
import { sandboxOptions } from "../sandbox/options.ts";
import { CONFIG_KEYS, findKey, SECTIONS } from "./schema.ts";

/** Contract section G: names and defaults that must not change. */
const CONTRACT: Record<string, unknown> = {
  backend: "local",
  cwd: null,
  persistent_shell: true,
  timeout: 180,
  daemon: "auto",
  lifetime_seconds: 300,
  docker_image: "debian:bookworm",
  docker_mount_cwd_to_workspace: false,
  docker_run_as_host_user: false,
  docker_forward_env: [],
  docker_env: {},
  docker_volumes: [],
  docker_extra_args: [],
  docker_network: true,
  docker_persist_across_processes: true,
  docker_orphan_reaper: true,
  container_cpu: 1,
  container_memory: 5120,
  container_disk: 51200,
  container_persistent: true,
  ssh_host: null,
  ssh_user: null,
  ssh_port: 22,
  ssh_key: null,
  singularity_image: "docker://debian:bookworm",
  modal_image: "debian:bookworm",
  modal_mode: "auto",
  daytona_image: "debian:bookworm",
  sandbox_dir: null,
  container_limits: "lenient",
  docker_allow_home_mount: false,
  docker_pull_timeout: 600,
  docker_on_drift: "warn",
  idle_stop_seconds: 0,
  label_prefix: "holdfast",
  output_limit: 50_000,
  spill_limit_mb: 256,
};

describe("the schema", () => {
  test("S46 has every key of the contract with its variable and default", () => {
    const found = CONFIG_KEYS.filter(({ section }) => section === "terminal");
    expect(Object.fromEntries(found.map((key) => [key.name, key.default]))).toEqual(CONTRACT);
    for (const key of found) expect(key.variable).toBe(`TERMINAL_${key.name.toUpperCase()}`);
  });

  test("no two parts declare the same key", () => {
    const parts = [sandboxOptions, dockerOptions, sshOptions, apptainerOptions, modalOptions, daytonaOptions];
    const declared = parts.flatMap((part) => Object.keys(part));
    expect(new Set(declared).size).toBe(declared.length);
    expect(Object.keys(SECTIONS.terminal.options)).toHaveLength(declared.length);
    expect(new Set(CONFIG_KEYS.map(({ variable }) => variable)).size).toBe(CONFIG_KEYS.length);
  });

  test.each(CONFIG_KEYS.map((key) => [key.key, key] as const))("%s: the default is valid and the help one line", (_, key) => {
    expect(readOption(key.option, key.default)).toEqual({ ok: true, value: key.default, leftOut: [] });
    expect(key.help).toMatch(/^[A-Z][^\n]*[^.\s]$/);
  });

  test.each([
    ["timeout", "0"],
    ["timeout", "2147484"],
    ["lifetime_seconds", "-1"],
    ["idle_stop_seconds", "-1"],
    ["output_limit", "999"],
    ["container_cpu", "-0.5"],
    ["container_memory", "1.5"],
    ["ssh_port", "0"],
    ["ssh_port", "65536"],
    ["label_prefix", ""],
    ["label_prefix", "has space"],
    ["label_prefix", "-x"],
    ["docker_image", ""],
    ["docker_volumes", '["/a:/b:zz"]'],
    ["docker_volumes", '["/only"]'],
    ["docker_volumes", '["/a:relative"]'],
    ["docker_volumes", '["/a:/b:wo"]'],
    ["docker_volumes", '[":/b"]'],
    ["docker_extra_args", "[1]"],
    ["modal_mode", "fast"],
  ])("terminal.%s refuses %s", (name, text) => {
    expect(readOption(findKey(`terminal.${name}`).option, text).ok).toBe(false);
  });

  test.each([
    ["timeout", "0.5"],
    ["container_cpu", "0.25"],
    ["spill_limit_mb", "0"],
    ["docker_volumes", '["/a:/b", "~/x:/y:ro", "name:/data:rw"]'],
    ["docker_forward_env", '["HOME", "_x1"]'],
  ])("terminal.%s accepts %s", (name, text) => {
    expect(readOption(findKey(`terminal.${name}`).option, text).ok).toBe(true);
  });

  test.each(["ssh", "bubblewrap", "apptainer", "singularity", "modal", "daytona", "kubernetes"])(
    "a known backend without a driver is not taken for a spelling mistake: %s",
    (name) => {
      const reading = readOption(findKey("terminal.backend").option, name);
      expect(reading).toMatchObject({ ok: false, hint: expect.stringContaining(`no ${name} driver`) });
    },
  );

  test("whoever asks for podman hears that it belongs to docker", () => {
    const reading = readOption(findKey("terminal.backend").option, "podman");
    expect(reading).toMatchObject({ ok: false, hint: expect.stringContaining("the docker backend uses podman") });
  });

  test("a misspelt backend gets the right one", () => {
    expect(readOption(findKey("terminal.backend").option, "locla")).toMatchObject({ hint: 'did you mean "local"?' });
  });
});

describe("findKey", () => {
  test("finds a key", () => expect(findKey("terminal.timeout").variable).toBe("TERMINAL_TIMEOUT"));

  test.each([
    ["terminal.timout", "terminal.timeout"],
    ["terminal.docker_volume", "terminal.docker_volumes"],
    ["timeout", "terminal.timeout"],
    ["tiemout", "terminal.timeout"],
    ["TERMINAL_TIMEOUT", "terminal.timeout"],
    ["term.timeout", "terminal.timeout"],
    ["Terminal.Timeout", "terminal.timeout"],
  ])("%s: did you mean %s?", (name, meant) => {
    expect(() => findKey(name)).toThrow(
      expect.objectContaining({ code: "config-unknown-key", hint: expect.stringContaining(`"${meant}"`), facts: { key: name } }),
    );
  });

  test.each(["", "terminal", "frobnicate.everything", "terminal.", "terminal.foo", "__proto__", "terminal.__proto__", "toString"])(
    "no guess for %j",
    (name) => {
      expect(() => findKey(name)).toThrow(
        expect.objectContaining({ code: "config-unknown-key", hint: expect.not.stringContaining("did you mean") }),
      );
    },
  );
});

test("the reference page is fresh", () => {
  const page = new URL("../../docs/reference/configuration.md", import.meta.url);
  expect(readFileSync(page, "utf8")).toBe(renderConfigReference());
  for (const { key, variable } of CONFIG_KEYS) expect(renderConfigReference()).toContain(`| \`${key}\` | \`${variable}\` |`);
});
