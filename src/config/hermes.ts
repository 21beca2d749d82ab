/** @module What Hermes 0.15.1 accepts in its configuration and Holdfast calls otherwise, or does not do (S48). */

/** Its names for keys of ours. Where both are written in one place, ours counts. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  "terminal.env_type": "terminal.backend",
  "model.default": "model.name",
  "model.model": "model.name",
};

/** Its names for variables of ours. */
export const OTHER_VARIABLES: Readonly<Record<string, string>> = { TERMINAL_ENV: "terminal.backend" };

/** A section that may be a single value there, and what that is. */
export const VALUE_OF_SECTION: Readonly<Record<string, string>> = { model: "name" };

const SESSIONS = "terminal.persistent_shell says whether calls share a session, on every backend";
const HOST_ENV =
  "the commands of the local backend inherit the caller's variables, without credentials; containers get those of docker_forward_env";
const ENDPOINT = "the model is the one of model.base_url";

/** Keys of its sections that do nothing here, with what does it instead. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  "terminal.auto_source_bashrc": "a session begins as a login shell does",
  "terminal.credential_files": "bind files with docker_volumes, or pass variables with docker_forward_env",
  "terminal.daemon_term_grace_seconds": "what is ended has two seconds between TERM and KILL",
  "terminal.degraded_mode": "a backend that does not work is an error, and nothing takes its place",
  "terminal.docker_shared_container_key": "each profile and task has a container of its own; --task names the one to share",
  "terminal.docker_shm_size": 'write docker_extra_args: ["--shm-size", "1g"]',
  "terminal.docker_snap_compat": "HOLDFAST_DOCKER_BINARY names the program of the engine",
  "terminal.env_passthrough": HOST_ENV,
  "terminal.home_mode": "commands of the local backend have the caller's home, those in containers one of their own",
  "terminal.local_persistent": SESSIONS,
  "terminal.oneshot_completion_wait_seconds": "background processes outlive whoever started them",
  "terminal.shell_init_files": "a session begins as a login shell does",
  "terminal.ssh_persistent": SESSIONS,
  "terminal.sudo_password": "no password is handed to sudo",
  "terminal.temp_dir": "output that does not fit is kept in `output` in the profile's home",
  "terminal.vercel_runtime": "there is no such backend",
  "kanban.default_workdir": "each board has its own: `holdfast kanban boards create --default-workdir`",
  "model.api_key": "the key is HOLDFAST_MODEL_API_KEY, a variable or a line in `.env`",
  "model.api_mode": ENDPOINT,
  "model.context_length": "model.max_output_tokens limits answers, and questions are short",
  "model.max_tokens": "model.max_output_tokens limits answers",
  "model.provider": ENDPOINT,
};

/** Variables without a key in `config.yaml`. */
const ONLY_VARIABLES: Readonly<Record<string, string>> = {
  TERMINAL_DISK_WARNING_GB: "`holdfast sandbox inspect` shows the limits in force",
  TERMINAL_LOCAL_MEMORY_MAX_MB: "the local backend limits nothing",
  TERMINAL_MANAGED_MODAL_CANCEL_READ_TIMEOUT_SECONDS: "there is no such backend",
  TERMINAL_MANAGED_MODAL_CONNECT_TIMEOUT_SECONDS: "there is no such backend",
  TERMINAL_MANAGED_MODAL_POLL_READ_TIMEOUT_SECONDS: "there is no such backend",
  TERMINAL_MAX_FOREGROUND_TIMEOUT: "terminal.timeout limits a command, and --timeout may be longer",
  TERMINAL_SCRATCH_DIR: "terminal.sandbox_dir says where the files of sandboxes are",
};

/** Its other sections. Names that no section of ours could be meant by need not be here. */
const SECTIONS_ELSEWHERE: ReadonlySet<string> = new Set(["models", "skills", "timezone"]);

/** The key of ours that a key in `config.yaml` means. */
export function ownName(key: string): string {
  return Object.hasOwn(OTHER_NAMES, key) ? (OTHER_NAMES[key] as string) : key;
}

/** All names under which a key of ours may be written, its own first. */
export function namesOf(key: string): string[] {
  return [key, ...Object.keys(OTHER_NAMES).filter((name) => OTHER_NAMES[name] === key)];
}

/** What to do instead, for a key that is accepted and does nothing. */
export function withoutEffect(key: string): string | undefined {
  return Object.hasOwn(WITHOUT_EFFECT, key) ? WITHOUT_EFFECT[key] : undefined;
}

export function variableWithoutEffect(variable: string): string | undefined {
  if (Object.hasOwn(ONLY_VARIABLES, variable)) return ONLY_VARIABLES[variable];
  const [, name] = /^TERMINAL_(.+)$/.exec(variable) ?? [];
  return name && withoutEffect(`terminal.${name.toLowerCase()}`);
}

/** Whether a section is one of Hermes alone, although its name is like one of ours. */
export function isElsewhere(section: string): boolean {
  return SECTIONS_ELSEWHERE.has(section);
}
