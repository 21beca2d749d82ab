/** @module The labels that say whose a container is, and its name. */
import { digest } from "../../../base/ids.ts";
import type { Owner } from "../../driver.ts";

export type ContainerLabels = Readonly<Record<string, string>>;
/** An install, or one profile or task in it. */
export type OwnerFilter = Pick<Owner, "install"> & Partial<Owner>;

/** What a container says about itself besides its owner. */
export interface LabelFacts {
  readonly fingerprint: string;
  readonly version: string;
  /** Whether the files in its home and workspace outlive it. */
  readonly keepFiles: boolean;
  /** Whether it outlives the process that made it. */
  readonly persist: boolean;
  /** The user's own arguments that took something away from its hardening. */
  readonly weakened: readonly string[];
  /** Whether holdfastd runs in it. */
  readonly daemon: boolean;
  /** Milliseconds since the epoch, by our clock: an engine on another machine has its own. */
  readonly createdAt: number;
}

export interface Labels {
  of(owner: Owner, facts: LabelFacts): Record<string, string>;
  /** Arguments of `ps`. They narrow the search only: names that are different may have the same label, so `ownerOf` decides. */
  filterArgs(filter: OwnerFilter): string[];
  /** Null when the container is not one of those that the filter asks for. */
  ownerOf(labels: ContainerLabels, filter: OwnerFilter): Owner | null;
  /** A fact that the container does not state, because another system made it, is null. */
  factsOf(labels: ContainerLabels): { readonly [Fact in keyof LabelFacts]: LabelFacts[Fact] | null };
  /** The same in every process, so that the engine itself refuses the second of two containers for one owner. */
  containerName(owner: Owner): string;
}

const OWN_PREFIX = "holdfast";
const LONGEST_VALUE = 63;

export function createLabels(prefix: string): Labels {
  const name = (suffix: string) => `${prefix}-${suffix}`;
  // Under the prefix of another system lie containers that it made, which know nothing of installs.
  const adopts = prefix !== OWN_PREFIX;

  return {
    of: (owner, { fingerprint, version, keepFiles, persist, weakened, daemon, createdAt }) => ({
      [name("agent")]: "1",
      [name("task-id")]: labelValue(owner.task),
      [name("profile")]: labelValue(owner.profile),
      [name("install")]: labelValue(owner.install),
      [name("owner")]: JSON.stringify({ profile: owner.profile, task: owner.task }),
      [name("spec")]: fingerprint,
      [name("version")]: version,
      [name("files")]: keepFiles ? "keep" : "drop",
      [name("lifetime")]: persist ? "persist" : "process",
      // Always there, or an image that was made from a sandbox would hand on its own.
      [name("weakened")]: JSON.stringify(weakened),
      [name("daemon")]: daemon ? "holdfastd" : "none",
      [name("created")]: String(createdAt),
    }),

    filterArgs({ install, profile, task }) {
      const wanted: [string, string | undefined][] = [
        ["install", adopts ? undefined : install],
        ["agent", "1"],
        ["task-id", task],
        ["profile", profile],
      ];
      return wanted.flatMap(([suffix, value]) => (value === undefined ? [] : ["--filter", `label=${name(suffix)}=${labelValue(value)}`]));
    },

    ownerOf(labels, filter) {
      if (labels[name("agent")] !== "1") return null;
      const install = labels[name("install")];
      const ours = install === undefined ? adopts : install === labelValue(filter.install);
      if (!ours) return null;
      const exact = labels[name("owner")];
      // One that another system made only has the shortened names; whoever asks for it knows the full ones.
      if (exact === undefined && install === undefined) return adoptedOwner(labels[name("profile")], labels[name("task-id")], filter);
      const names = parseNames(exact);
      if (names === null) return null;
      const wanted = (filter.profile ?? names.profile) === names.profile && (filter.task ?? names.task) === names.task;
      return wanted ? { install: filter.install, ...names } : null;
    },

    factsOf: (labels) => ({
      fingerprint: labels[name("spec")] ?? null,
      version: labels[name("version")] ?? null,
      keepFiles: parseChoice(labels[name("files")], { yes: "keep", no: "drop" }),
      persist: parseChoice(labels[name("lifetime")], { yes: "persist", no: "process" }),
      weakened: parseList(labels[name("weakened")]),
      daemon: labels[name("version")] === undefined ? null : labels[name("daemon")] !== "none",
      createdAt: parseMilliseconds(labels[name("created")]),
    }),

    containerName: ({ install, profile, task }) => `${prefix}-${digest(JSON.stringify([install, profile, task]), 16)}`,
  };
}

/** S12: the form that other systems use, too, with one `_` for each character, however many units it has. */
export function labelValue(text: string | undefined): string {
  return (text ?? "").replace(/[^A-Za-z0-9_.-]/gu, "_").slice(0, LONGEST_VALUE) || "unknown";
}

function adoptedOwner(profile: string | undefined, task: string | undefined, filter: OwnerFilter): Owner | null {
  if (profile === undefined || task === undefined) return null;
  if (filter.profile !== undefined && labelValue(filter.profile) !== profile) return null;
  if (filter.task !== undefined && labelValue(filter.task) !== task) return null;
  return { install: filter.install, profile: filter.profile ?? profile, task: filter.task ?? task };
}

function parseNames(text = ""): Pick<Owner, "profile" | "task"> | null {
  try {
    const { profile, task } = JSON.parse(text) as Record<string, unknown>;
    return typeof profile === "string" && typeof task === "string" ? { profile, task } : null;
  } catch {
    // SyntaxError, or a TypeError for `null`: somebody else's label.
    return null;
  }
}

function parseChoice(text: string | undefined, { yes, no }: { yes: string; no: string }): boolean | null {
  if (text === yes) return true;
  return text === no ? false : null;
}

function parseList(text = "[]"): string[] | null {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((item) => typeof item === "string") ? list : null;
  } catch {
    // SyntaxError: somebody else's label.
    return null;
  }
}

function parseMilliseconds(text = ""): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
