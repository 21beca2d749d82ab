/** @module What the dispatcher knows of workers: how a profile's are started, and the seam to what starts and ends them. */
import type { Claim } from "../board/claims.ts";
import type { WorkerExit } from "../board/exit.ts";
import type { Run } from "../board/runs.ts";
import type { Access, SandboxRef } from "../sandbox/driver.ts";
import type { DispatchSettings } from "./settings.ts";
import type { Workspace } from "./workspace.ts";

/** The `worker:` block of a profile (K4). */
export interface WorkerSettings {
  /** Empty: the profile is not spawnable, its tasks wait for somebody who takes them. */
  readonly command: readonly string[];
  readonly sandbox: "task" | "profile" | "none";
  readonly env: Readonly<Record<string, string>>;
  /** Null: no limit. */
  readonly maxRuntimeMs: number | null;
  readonly skills: readonly string[];
  readonly vision: boolean;
  /** Its workers may get what comes from a sandbox although they are on the host. */
  readonly acceptsFromSandboxes: boolean;
}

export interface WorkerDirectory {
  /** Null: there is no such profile. @throws when its configuration cannot be read */
  settingsOf(profile: string): Promise<WorkerSettings | null>;
  /** Whether its workers run in sandboxes with files of their own. @throws when its configuration cannot be read */
  isolates(profile: string): Promise<boolean>;
}

/** What the dispatcher writes into a run so that any later one finds its worker again. */
export interface WorkerRecord {
  /** Where the supervisor's pid means something. */
  readonly place: Place;
  readonly supervisor: { readonly pid: number; readonly startedAt: string };
  /** Every process of the run carries it as `HOLDFAST_SUPERVISED`. */
  readonly mark: string;
  readonly sandbox: WorkerSettings["sandbox"];
  readonly workspace: string;
  /** Null: nothing has begun in a sandbox. Not there in what an older version has written, which looked where the profile points. */
  readonly address?: SandboxAddress | null;
  /** It runs in a sandbox with files of its own, and what it makes is for workers that do, too. */
  readonly isolated: boolean;
  /** The worker itself, when it is a process of this machine: all that comes from it is found, with the mark or without. */
  readonly process?: { readonly pid: number; readonly startedAt: string };
  readonly exit?: WorkerExit;
}

/** What finds the sandbox of a worker again, whatever is configured by then, and whatever its profile is called. */
export interface SandboxAddress {
  readonly ref: SandboxRef;
  /** Where the driver keeps its files on the host. */
  readonly directory: string;
  /** Null: on this machine. */
  readonly access: Access | null;
}

/** A machine since its last boot, seen from one pid namespace. */
export interface Place {
  readonly install: string;
  readonly boot: string;
  readonly pids: string;
}

export interface LaunchOptions {
  readonly worker: WorkerSettings;
  readonly workspace: Workspace;
  readonly settings: DispatchSettings;
}

export interface Launcher {
  /**
   * Starts a supervisor for the claim. Resolves when the run says who supervises it and the supervisor was told to begin; how the worker
   * fares is written to the run. @throws what kept it from starting: nothing is left running then
   */
  launch(claim: Claim, options: LaunchOptions): Promise<void>;
  /** `elsewhere`: on another machine, which must be asked. */
  look(run: Run): Promise<"alive" | "gone" | "elsewhere">;
  /** Ends everything that lives of a run: TERM, grace, KILL. Resolves only when nothing is left. @throws when that cannot be made sure */
  end(run: Run, options: { graceMs: number }): Promise<void>;
}
