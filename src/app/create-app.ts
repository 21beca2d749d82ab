/** @module The composition root: the only place that puts the parts of all layers together. */
import { homedir } from "node:os";
import { join, posix, resolve } from "node:path";
import type { Audit } from "../base/audit.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { HoldfastError } from "../base/errors.ts";
import { type Logger, silentLogger } from "../base/log.ts";
import { DEFAULT_PROFILE, parseTaskName } from "../base/names.ts";
import { isCredential, withoutCredentials } from "../config/child-environment.ts";
import type { Environment } from "../config/environment.ts";
import type { FlagSetting } from "../config/flags.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { createLifecycle, type Lifecycle } from "../lifecycle/lifecycle.ts";
import { createProfiles, type Profiles } from "../profiles/profiles.ts";
import { type SelectedProfile, selectProfile } from "../profiles/select.ts";
import type { Owner, SandboxDriver } from "../sandbox/driver.ts";
import type { DriverContext, DriverSettings } from "../sandbox/driver-context.ts";
import type { OutputLimits } from "../sandbox/output/recorder.ts";
import { DRIVERS } from "../sandbox/registry.gen.ts";
import type { SandboxSpec } from "../sandbox/spec.ts";
import { withLimits } from "../sandbox/with-limits.ts";
import { withLog } from "../sandbox/with-log.ts";
import { createAuditLog } from "./audit-log.ts";
import { daemonProgram } from "./daemon-program.ts";
import { installId } from "./install.ts";
import type { Kanban } from "./kanban.ts";
import { specFromConfig } from "./spec-from-config.ts";
import { readTaskSettings, type TaskSettings } from "./task-settings.ts";
import { withHomeGuard } from "./with-home-guard.ts";

const MEGABYTE = 1024 * 1024;

export interface AppOptions {
  environment: Environment;
  /** The caller's directory. Null: it was deleted. */
  cwd: string | null;
  /** The profile asked for; without it the variable, the sticky choice or `default` counts. */
  profile?: string | undefined;
  /** Configuration given with this call. */
  flags?: readonly FlagSetting[];
  clock?: Clock;
  log?: Logger;
  /**
   * What this process is, for the audit log.
   * @default "holdfast library"
   */
  program?: string;
  /** What one task has for itself: the app is for that one alone. */
  ofTask?: TaskSettings | undefined;
  /**
   * The installs in which this process has looked for orphaned sandboxes.
   * @default a set of its own, which the apps that are made from this one share
   */
  swept?: Set<string>;
  /** Changed settings that concern trust take effect on sandboxes that are there already: nobody is there who would hear a warning. */
  strictDrift?: boolean;
}

/** Everything an operation may use. Parts are made when they are first asked for, and only once. */
export interface App {
  readonly profile: SelectedProfile;
  readonly profiles: Profiles;
  readonly environment: Environment;
  /** The caller's directory; for paths see `fromCaller`. Null: it was deleted. */
  readonly cwd: string | null;
  readonly clock: Clock;
  readonly log: Logger;
  readonly audit: Audit;
  /** Where `audit` writes. */
  readonly auditFile: string;
  config(): Promise<LoadedConfig>;
  /** The driver of the configured backend. */
  driver(): Promise<SandboxDriver>;
  /** A driver by the name of its backend, whatever is configured. */
  driverNamed(name: keyof typeof DRIVERS): Promise<SandboxDriver>;
  lifecycle(): Promise<Lifecycle>;
  spec(): Promise<SandboxSpec>;
  owner(task: string): Promise<Owner>;
  /** The app for what belongs to a task: another one if the task has settings of its own (S45), which is closed with this one. */
  forTask(task: string): Promise<App>;
  /** What `forTask` would give if the task had these settings. Not closed with this one. */
  withSettings(ofTask: TaskSettings): Promise<App>;
  /** The same app with another backend configured. Not closed with this one. */
  onBackend(name: keyof typeof DRIVERS): Promise<App>;
  /** The same app for another profile, with the same flags and variables. */
  forProfile(name: string): Promise<App>;
  /** The boards, opened when first asked for. */
  kanban(): Promise<Kanban>;
  /** True when no teardown is pending in this process, or none is any more before the time is up. */
  waitForCleanup(timeoutMs: number): Promise<boolean>;
  /** Ends what runs in this process by the rules of each sandbox, and says what it had to leave. */
  close(): Promise<{ left: readonly string[] }>;
}

export async function createApp(options: AppOptions): Promise<App> {
  const {
    environment,
    cwd,
    flags = [],
    clock = systemClock,
    log = silentLogger,
    program = "holdfast library",
    swept = new Set(),
  } = options;
  const root = holdfastHome(environment);
  const profiles = createProfiles(root);
  const profile = await selectProfile(profiles, { flag: options.profile, variable: environment.HOLDFAST_PROFILE });

  const auditFile = join(profile.home, "audit.log");
  const audit = createAuditLog({ path: auditFile, program, clock, log });

  const config = once(async () => {
    const loaded = await loadConfig({ home: profile.home, environment, flags, ofTask: options.ofTask });
    for (const warning of loaded.warnings) log.warn(warning);
    return loaded;
  });
  const context = once(async (): Promise<DriverContext> => {
    const { values, dotenv, explain } = await config();
    const warned = new Set<string>();
    const warnOnce = (name: string) => {
      if (warned.has(name)) return;
      warned.add(name);
      log.warn(`${name} is a credential, and every command in the sandbox gets it, because docker_forward_env names it`, {
        variable: name,
      });
    };
    return {
      sandboxDir: sandboxDir(profile, values.terminal.sandbox_dir),
      hostEnv: withoutCredentials(environment, dotenv),
      daemonProgram: daemonProgram(values.terminal.daemon),
      settings: values.terminal,
      isSet: (option) => explain(`terminal.${option}`).source.kind !== "default",
      variable(name) {
        const value = environment[name] ?? dotenv[name];
        if (value !== undefined && isCredential(name)) warnOnce(name);
        return value;
      },
      audit,
      swept,
      clock,
      log,
    };
  });
  const driverNamed = async (name: keyof typeof DRIVERS) => {
    const { createDriver } = await DRIVERS[name].load();
    const guarded = withHomeGuard(createDriver(await context()), {
      root,
      allowed: (await config()).values.terminal.docker_allow_home_mount,
    });
    return withLimits(withLog(guarded, { clock, log }), { clock, log });
  };
  const driver = once(async () => driverNamed((await config()).values.terminal.backend));
  // After the configuration, so that a mistake in it is reported with nothing written, and nothing still being written.
  const install = once(async () => {
    await config();
    return installId(root);
  });
  const lifecycle = once(async () => {
    const { terminal } = (await config()).values;
    const { isolatesFiles, startDirectory: ofDriver } = (await driver()).capabilities;
    return createLifecycle({
      driver: await driver(),
      clock,
      log,
      audit,
      // On the host there is nothing that a new sandbox would have and an old one lacks.
      onDrift: isolatesFiles ? terminal.docker_on_drift : "reuse",
      strictDrift: isolatesFiles && options.strictDrift === true,
      idleMs: terminal.lifetime_seconds * 1000,
      defaultTimeoutMs: terminal.timeout * 1000,
      startDirectory: startDirectory(terminal.cwd, ofDriver, cwd),
      keepSessions: terminal.persistent_shell,
      limits: outputLimits(terminal, profile),
    });
  });

  const kanban = once(async () => {
    const own = await config();
    const shared = profile.name === DEFAULT_PROFILE ? own : await loadConfig({ home: root, environment, flags });
    for (const { key, source } of own.entries()) {
      if (own === shared || key.section !== "kanban" || (source.kind !== "file" && source.kind !== "dotenv")) continue;
      log.warn(noEffectIn(profile.name, key.key));
    }
    const { openKanban } = await import("./kanban.ts");
    return openKanban({ root, profile: profile.name, environment, config: shared, clock, log });
  });

  const ofTasks = new Map<string, Promise<App>>();
  const app: App = {
    profile,
    profiles,
    environment,
    cwd,
    clock,
    log,
    audit,
    auditFile,
    config,
    driver,
    driverNamed,
    lifecycle,
    spec: async () => specFromConfig((await config()).values, (await driver()).capabilities, { cwd }),
    owner: async (task) => ({ install: await install(), profile: profile.name, task: parseTaskName(task) }),
    async forTask(task) {
      const ofTask = options.ofTask ? null : readTaskSettings(profile.home, parseTaskName(task));
      if (ofTask === null) return app;
      const key = JSON.stringify(ofTask);
      const own = ofTasks.get(key) ?? app.withSettings(ofTask);
      ofTasks.set(key, own);
      return own;
    },
    withSettings: (ofTask) => createApp({ ...options, swept, profile: profile.name, ofTask }),
    onBackend: (name) =>
      createApp({ ...options, swept, profile: profile.name, flags: [...flags, { name: "backend", key: "terminal.backend", value: name }] }),
    kanban,
    forProfile: (name) => createApp({ ...options, swept, profile: name }),
    async waitForCleanup(timeoutMs) {
      const own = lifecycle.started() ? (await lifecycle()).waitForCleanup(timeoutMs) : true;
      const others = [...ofTasks.values()].map(async (other) => (await other).waitForCleanup(timeoutMs));
      return (await Promise.all([own, ...others])).every((done) => done);
    },
    async close() {
      if (kanban.started()) await (await kanban())[Symbol.asyncDispose]();
      const own = lifecycle.started() ? (await lifecycle()).close() : { left: [] };
      const others = [...ofTasks.values()].map(async (other) => (await other).close());
      const reports = await Promise.all([own, ...others]);
      return { left: reports.flatMap(({ left }) => left) };
    },
  };
  return app;
}

/** `$HOLDFAST_HOME`, else `~/.holdfast`. */
export function holdfastHome(environment: Environment): string {
  const configured = environment.HOLDFAST_HOME;
  if (!configured) return join(environment.HOME || homedir(), ".holdfast");
  try {
    return resolve(configured);
  } catch (error) {
    // ENOENT: there is no current directory any more.
    throw new HoldfastError("invalid-input", `HOLDFAST_HOME is relative (${configured}) to a directory that has been deleted`, {
      hint: "set it to an absolute path, or change to a directory that exists",
      facts: { HOLDFAST_HOME: configured },
      cause: error,
    });
  }
}

/** A configured directory may be shared by profiles, so the others get folders of their own in it. */
export function sandboxDir(profile: Pick<SelectedProfile, "home" | "name">, configured: string | null): string {
  if (configured === null) return join(profile.home, "sandboxes");
  const directory = resolve(profile.home, configured.replace(/^~(?=\/|$)/, homedir()));
  return profile.name === DEFAULT_PROFILE ? directory : join(directory, "profiles", profile.name);
}

export function outputLimits(
  { output_limit, spill_limit_mb }: Pick<DriverSettings, "output_limit" | "spill_limit_mb">,
  { home }: Pick<SelectedProfile, "home">,
): OutputLimits {
  return { keepChars: output_limit, spillBytes: spill_limit_mb * MEGABYTE, spillDirectory: join(home, "output") };
}

/**
 * A relative one begins where it would begin without it: the caller's directory means nothing in a container. Null: it depends on the
 * caller's directory, which was deleted.
 */
function startDirectory(configured: string | null, ofDriver: string, caller: string | null): string | null {
  if (configured !== null && (configured.startsWith("~") || posix.isAbsolute(configured))) return configured;
  const base = ofDriver === "caller" ? caller : ofDriver;
  return base === null ? null : posix.resolve(base, configured ?? ".");
}

/** Remembers a success; a failure is tried again by the next caller. */
function once<T>(make: () => Promise<T>): (() => Promise<T>) & { started(): boolean } {
  let made: Promise<T> | undefined;
  const get = () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
  return Object.assign(get, { started: () => made !== undefined });
}

export function noEffectIn(profile: string, key: string): string {
  return `${key} in the configuration of ${profile} has no effect: all profiles share the boards, so it belongs to default`;
}
