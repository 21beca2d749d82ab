/**
 * @module Which verbs a worker in a sandbox may have run on the host, and what each of their words is. The words come from a place that is
 * not trusted: what is not known is refused, and what is passed on is written so that it cannot be read in any other way.
 */
import { HoldfastError } from "../../base/errors.ts";

/** `file`: a path in the sandbox, whatever it looks like. `file-or-input`: the same, or `-`. `workspace`: where another task shall be worked on. */
export type WordKind = "flag" | "text" | "file" | "file-or-input" | "workspace";

interface Verb {
  readonly options: Readonly<Record<string, WordKind>>;
  /** Of one of its operands. @default all are text */
  operand?(index: number, count: number): WordKind;
}

export interface GivenWord {
  /** Null for an operand. */
  readonly option: string | null;
  readonly kind: WordKind;
  /** Empty for a flag. */
  readonly value: string;
}

export interface GivenVerb {
  readonly verb: string;
  readonly words: readonly GivenWord[];
}

const TEXTS = (...names: string[]): Record<string, WordKind> => Object.fromEntries(names.map((name) => [name, "text"]));
const HANDOVER = TEXTS("summary", "metadata", "cost", "tokens");

/** A test compares it with the program's own verbs. */
export const WORKER_VERBS: Readonly<Record<string, Verb>> = {
  show: { options: {} },
  context: { options: {} },
  complete: { options: { ...HANDOVER, ...TEXTS("created"), artifact: "file" } },
  block: { options: TEXTS("kind") },
  "request-review": { options: { ...HANDOVER, ...TEXTS("reviewer") } },
  "request-changes": { options: {} },
  heartbeat: { options: {} },
  comment: { options: {} },
  create: {
    options: {
      ...TEXTS("assignee", "parent", "idempotency-key", "blocked", "at", "in", "body", "priority", "tenant", "branch"),
      ...TEXTS("max-runtime", "max-retries", "skill", "model", "deadline", "every", "cron", "time-zone"),
      triage: "flag",
      "body-file": "file-or-input",
      workspace: "workspace",
    },
  },
  link: { options: {} },
  attach: { options: TEXTS("name", "content-type"), operand: (index, count) => (index === count - 1 ? "file" : "text") },
  attachments: { options: {} },
  runs: { options: {} },
  log: { options: TEXTS("tail") },
};

/** What every verb has. Whoever the caller is, and what the configuration says, is never for the caller to choose. */
export const COMMON: Readonly<Record<string, WordKind>> = { json: "flag", help: "flag", board: "text" };
/** And a verb must come to an end: `follow`. */
export const FORBIDDEN: readonly string[] = ["profile", "config", "debug", "token", "follow"];

/** Of the words behind `holdfast`. @throws `usage`, `move-refused` */
export function readVerb(args: readonly string[], { board }: { board: string }): GivenVerb {
  const [program = "", name = "", ...rest] = args;
  const verb = program === "kanban" && Object.hasOwn(WORKER_VERBS, name) ? WORKER_VERBS[name] : undefined;
  if (verb === undefined) {
    throw new HoldfastError("move-refused", `only the verbs of the board work in here, not ${shown(`${program} ${name}`.trim())}`, {
      hint: `those for workers are ${Object.keys(WORKER_VERBS).join(", ")}`,
    });
  }
  const { options, operands } = readWords(name, rest, { ...COMMON, ...verb.options });
  const boards = options.filter(({ option }) => option === "board");
  const other = boards.find(({ value }) => value !== board);
  if (other) throw refused(`the board ${shown(other.value)} is out of reach here: a worker sees only its own board, ${board}`);
  const kindOf = (index: number) => verb.operand?.(index, operands.length) ?? "text";
  return {
    verb: name,
    words: [
      ...options.filter(({ option }) => option !== "board"),
      ...operands.map((value, index) => ({ option: null, kind: kindOf(index), value })),
    ],
  };
}

function readWords(verb: string, words: readonly string[], known: Readonly<Record<string, WordKind>>) {
  const options: GivenWord[] = [];
  const operands: string[] = [];
  const left = words.values();
  for (const word of left) {
    if (word === "--") operands.push(...left);
    else if (!word.startsWith("-") || word === "-") operands.push(word);
    else options.push(readOption(verb, word, { known, next: () => left.next().value }));
  }
  return { options, operands };
}

function readOption(
  verb: string,
  word: string,
  { known, next }: { known: Readonly<Record<string, WordKind>>; next: () => string | undefined },
): GivenWord {
  const [, option = "", , inline] = /^--([a-z][a-z-]*)(=(.*))?$/s.exec(word === "-h" ? "--help" : word) ?? [];
  const kind = Object.hasOwn(known, option) ? known[option] : undefined;
  if (kind === undefined) throw unknown(verb, word, option);
  if (kind === "flag") {
    if (inline !== undefined) throw usage(`--${option} takes no value`);
    return { option, kind, value: "" };
  }
  // Whatever it looks like: the program takes the next word, too.
  const value = inline ?? next();
  if (value === undefined) throw usage(`--${option} needs a value`);
  return { option, kind, value };
}

/** The same as arguments of the program. Each value stands with its option in one word, and operands behind a `--`. */
export function writeVerb({ verb, words }: GivenVerb): string[] {
  const operands = words.filter(({ option }) => option === null).map(({ value }) => value);
  const options = words.flatMap(({ option, kind, value }) =>
    option === null ? [] : [kind === "flag" ? `--${option}` : `--${option}=${value}`],
  );
  return ["kanban", verb, ...options, ...(operands.length > 0 ? ["--", ...operands] : [])];
}

function unknown(verb: string, word: string, long: string): HoldfastError {
  const forbidden = FORBIDDEN.includes(long) || /^-[pcf]/.test(word);
  if (forbidden) return refused(`${shown(word)} cannot be given in here: it is not for a worker to say`);
  return usage(`holdfast kanban ${verb} has no option ${shown(word)} in here`);
}

function refused(message: string): HoldfastError {
  return new HoldfastError("move-refused", message, { hint: "leave it out" });
}

function usage(message: string): HoldfastError {
  return new HoldfastError("usage", message, { hint: "`holdfast kanban VERB --help` shows what there is" });
}

function shown(word: string): string {
  return JSON.stringify(word.length > 60 ? `${word.slice(0, 60)}…` : word);
}
