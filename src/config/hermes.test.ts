import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import type { Environment } from "./environment.ts";
import { loadConfig } from "./load.ts";
import { createSecretSearch, withoutSecrets } from "./secrets.ts";

async function load(text: string, environment: Environment = {}, dotenv = "") {
  const place = await temporaryDirectory();
  onTestFinished(() => place[Symbol.asyncDispose]());
  const file = join(place.path, "config.yaml");
  await writeFile(file, text);
  await writeFile(join(place.path, ".env"), dotenv);
  const config = await loadConfig({ home: place.path, environment });
  return { ...config, warnings: config.warnings.map((warning) => warning.replaceAll(place.path, "HOME")) };
}

/** By hand from the documents of 0.15.1: every key of its `terminal:` with a value that it accepts, its defaults where there are any. */
const TERMINAL: Readonly<Record<string, string>> = {
  ...{ backend: "docker", cwd: ".", timeout: "180", lifetime_seconds: "0", persistent_shell: "on", modal_mode: "auto" },
  ...{ docker_image: "nikolaik/python-nodejs:python3.11-nodejs20", singularity_image: "docker://x", modal_image: "x", daytona_image: "x" },
  ...{ container_cpu: "1", container_memory: "5120", container_disk: "51200", container_persistent: "True" },
  ...{ docker_volumes: "['/a:/b', '/c:/d:ro,z']", docker_env: "{ DEBUG: 1 }", docker_forward_env: "[GITHUB_TOKEN]" },
  ...{ docker_extra_args: "['--shm-size', '1g']", docker_mount_cwd_to_workspace: "off", docker_run_as_host_user: "False" },
  ...{ docker_network: "on", docker_persist_across_processes: "yes", docker_orphan_reaper: "off" },
  ...{ ssh_host: "''", ssh_user: "", ssh_port: "22", ssh_key: "~" },
};

/** Accepted, and with one word each about what it means here. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  ...{ degraded_mode: "warn", temp_dir: "/tmp", daemon_term_grace_seconds: "2.0", oneshot_completion_wait_seconds: "600" },
  ...{
    env_passthrough: "[A]",
    credential_files: "[x.json]",
    home_mode: "auto",
    shell_init_files: "[~/.bashrc]",
    auto_source_bashrc: "true",
  },
  ...{ vercel_runtime: "node24", docker_shm_size: "1g", docker_snap_compat: "false", docker_shared_container_key: "team" },
  ...{ local_persistent: "false", ssh_persistent: "true", sudo_password: "hunter2-secret" },
};

const KANBAN: Readonly<Record<string, string>> = {
  ...{ dispatch_in_gateway: "true", notify_in_gateway: "true", dispatch_interval_seconds: "60", failure_limit: "2", max_spawn: "3" },
  ...{ dispatch_stale_timeout_seconds: "0", max_in_progress: "", max_in_progress_per_profile: "0", default_assignee: "null" },
  ...{ orchestrator_profile: "''", auto_decompose: "on", auto_decompose_per_tick: "3", auto_promote_children: "true" },
  ...{ review_dispatch: "true", reconcile_orphans: "true", dispatch_profiles: "", auto_subscribe_on_create: "true" },
  ...{ done_sub_retention_days: "30", worker_log_rotate_bytes: "2097152", worker_log_backup_count: "1" },
};

const block = (name: string, keys: Readonly<Record<string, string>>) =>
  [`${name}:`, ...Object.entries(keys).map(([key, value]) => `  ${key}: ${value}`), ""].join("\n");

describe("S48 what Hermes accepts", () => {
  test("its terminal: and kanban: work unchanged, without a word", async () => {
    const { values, warnings } = await load(block("terminal", TERMINAL) + block("kanban", KANBAN));
    expect(warnings).toEqual([]);
    expect(values.terminal).toMatchObject({
      ...{ backend: "docker", cwd: ".", lifetime_seconds: 0, persistent_shell: true, docker_orphan_reaper: false, docker_network: true },
      ...{
        docker_run_as_host_user: false,
        container_persistent: true,
        docker_volumes: ["/a:/b", "/c:/d:ro,z"],
        ssh_user: null,
        ssh_key: null,
      },
    });
    expect(values.kanban).toMatchObject({ default_assignee: "", max_in_progress: null, auto_decompose: true });
  });

  test.each(Object.entries(WITHOUT_EFFECT))("terminal.%s is accepted, and one warning says what it means here", async (key, value) => {
    const { warnings } = await load(`terminal:\n  ${key}: ${value}\n`);
    expect(warnings).toEqual([expect.stringMatching(`^terminal\\.${key} has no effect in Holdfast: .+ \\(HOME/config\\.yaml line 2\\)$`)]);
    expect((await load(`terminal:\n  ${key}:\n`)).warnings).toEqual([]);
    expect((await load("", { [`TERMINAL_${key.toUpperCase()}`]: value })).warnings).toEqual([
      expect.stringMatching(`^TERMINAL_${key.toUpperCase()} has no effect in Holdfast: .+ \\(environment variable`),
    ]);
    expect(JSON.stringify(warnings)).not.toContain("hunter2");
  });

  test.each([
    ["TERMINAL_MAX_FOREGROUND_TIMEOUT", "600"],
    ["TERMINAL_SCRATCH_DIR", "/scratch"],
    ["TERMINAL_DISK_WARNING_GB", "500"],
    ["TERMINAL_LOCAL_MEMORY_MAX_MB", "512"],
    ["TERMINAL_MANAGED_MODAL_CONNECT_TIMEOUT_SECONDS", "1"],
  ])("the variable %s too", async (variable, value) => {
    expect((await load("", { [variable]: value })).warnings).toEqual([expect.stringContaining(`${variable} has no effect in Holdfast: `)]);
    expect((await load("", {}, `${variable}=${value}\n`)).warnings).toEqual([
      expect.stringContaining(`${variable} has no effect in Holdfast: `),
    ]);
  });

  test("TERMINAL_ENV selects the backend, from the environment and from .env; our own name counts first", async () => {
    expect((await load("", { TERMINAL_ENV: "docker" })).explain("terminal.backend")).toMatchObject({
      value: "docker",
      source: { kind: "environment", variable: "TERMINAL_ENV" },
    });
    expect((await load("terminal:\n  backend: local\n", {}, "TERMINAL_ENV=docker\n")).explain("terminal.backend")).toMatchObject({
      value: "docker",
      source: { kind: "dotenv", variable: "TERMINAL_ENV", line: 1 },
    });
    const both = { TERMINAL_ENV: "docker", TERMINAL_BACKEND: "memory" };
    expect((await load("", both)).values.terminal.backend).toBe("memory");
    expect((await load("", {}, "TERMINAL_ENV=docker\nTERMINAL_BACKEND=memory\n")).values.terminal.backend).toBe("memory");
    await expect(load("", { TERMINAL_ENV: "ssh" })).rejects.toMatchObject({
      code: "config-bad-value",
      message: expect.stringContaining("(environment variable TERMINAL_ENV)"),
    });
    expect((await load("terminal:\n  env_type: docker\n")).values.terminal.backend).toBe("docker");
    expect((await load("terminal:\n  env_type: docker\n  backend: memory\n")).values.terminal.backend).toBe("memory");
  });

  test("in model: its default is the name, also where the section is nothing but that", async () => {
    const { values, warnings } = await load("model:\n  default: tiny\n  provider: openrouter\n  base_url: http://127.0.0.1:1\n");
    expect(values.model).toMatchObject({ name: "tiny", base_url: "http://127.0.0.1:1" });
    expect(warnings).toEqual([expect.stringMatching(/^model\.provider has no effect in Holdfast: .*model\.base_url/)]);
    expect((await load("model: tiny\n")).values.model.name).toBe("tiny");
    expect((await load("model:\n  default: theirs\n  name: ours\n")).values.model.name).toBe("ours");
  });

  test("sections that are not ours are told once, all together", async () => {
    const { values, warnings } = await load(
      "agent:\n  max_turns: 5\nterminal:\n  timeout: 7\ndisplay: {}\nskills: {}\nfile_read_max_chars: 5\n",
    );
    expect(values.terminal.timeout).toBe(7);
    expect(warnings).toEqual([
      "agent, display, skills, file_read_max_chars in HOME/config.yaml are no sections of Holdfast, and have no effect",
    ]);
    expect((await load("frobnicate: 1\n")).warnings).toEqual([
      "frobnicate in HOME/config.yaml is no section of Holdfast, and has no effect",
    ]);
  });

  test.each([
    ["terminal:\n  persistent_shel: true\n", "terminal.persistent_shel", "terminal.persistent_shell"],
    ["kanban:\n  failure_limits: 2\n", "kanban.failure_limits", "kanban.failure_limit"],
    ["termnal:\n  timeout: 5\n", "termnal", "terminal:"],
    ["timeout: 5\n", "timeout", "terminal.timeout"],
  ])("what is misspelt still fails: %j", async (text, key, meant) => {
    await expect(load(text)).rejects.toMatchObject({
      code: "config-unknown-key",
      message: expect.stringContaining(`there is no configuration key "${key}"`),
      hint: expect.stringContaining(`did you mean "${meant}"?`),
    });
  });

  test("S10 one invalid name in docker_forward_env is left out, and the others count", async () => {
    const { values, warnings } = await load("terminal:\n  docker_forward_env: [GOOD, 'BAD NAME', 5, ALSO_GOOD]\n");
    expect(values.terminal.docker_forward_env).toEqual(["GOOD", "ALSO_GOOD"]);
    expect(warnings).toEqual([
      'terminal.docker_forward_env: "BAD NAME" is not a valid name, so that entry is left out (HOME/config.yaml line 2)',
      "terminal.docker_forward_env: 5 is not a valid name, so that entry is left out (HOME/config.yaml line 2)",
    ]);
    const given = await load("", { TERMINAL_DOCKER_FORWARD_ENV: '["A-B", "C"]' });
    expect(given.values.terminal.docker_forward_env).toEqual(["C"]);
  });

  test("K2 nothing that only Hermes reads goes along with a profile", async () => {
    const text =
      "# mine\nauxiliary:\n  vision:\n    api_key: a-secret\nterminal:\n  sudo_password: a-secret\n  env_type: docker\nmodel:\n  default: tiny\n  api_key: a-secret\n";
    const clean = await withoutSecrets("config.yaml", text, createSecretSearch({}));
    expect(clean).toEqual({
      text: "# mine\nterminal:\n  env_type: docker\nmodel:\n  default: tiny\n",
      leftOut: [],
      elsewhere: expect.arrayContaining(["auxiliary", "terminal.sudo_password", "model.api_key"]),
    });
    const named = await withoutSecrets(
      "config.yaml",
      "model:\n  default: sk-0123456789abcdef\n  timeout_seconds: 5\n",
      createSecretSearch({}),
    );
    expect(named).toMatchObject({ text: "model:\n  timeout_seconds: 5\n", leftOut: ["model.name"] });
  });
});
