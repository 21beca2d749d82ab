/** @module What the sources hold, collected: settings, problems and warnings. All problems are reported at once, not one per attempt. */
import { type ErrorCode, HoldfastError } from "../base/errors.ts";
import { readOption } from "../base/read-option.ts";
import { type ConfigKey, unknownKeyHint } from "./schema.ts";
import { describeSource, type Setting, type Source } from "./source.ts";

export interface Problem {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly key?: string;
  readonly source: Source;
}

export interface Findings {
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
  /** Where a file says something that only another program reads. */
  readonly elsewhere: readonly (readonly [section: string, name?: string | undefined])[];
  /** The settings of a key, the winning one first: sources are read in the order of their precedence. */
  settingsOf(key: ConfigKey): readonly Setting[];
  add(key: ConfigKey, input: unknown, details: { source: Source; raw: string }): void;
  addUnknownKey(name: string, source: Source): void;
  /** A key or variable that is accepted and does nothing; `instead` says what does. */
  addWithoutEffect(name: string, instead: string, source: Source): void;
  addElsewhere(section: string, name?: string): void;
  addProblem(problem: Problem): void;
  addWarning(warning: string): void;
}

export function createFindings(): Findings {
  const problems: Problem[] = [];
  const warnings: string[] = [];
  const elsewhere: [section: string, name?: string | undefined][] = [];
  const settings = new Map<string, Setting[]>();
  const settingsOf = (key: ConfigKey) => settings.get(key.key) ?? [];

  return {
    problems,
    warnings,
    elsewhere,
    settingsOf,
    add(key, input, { source, raw }) {
      const reading = readOption(key.option, input);
      if (!reading.ok) {
        const message = `${key.key} must be ${reading.expected}, not ${reading.found} (${describeSource(source)})`;
        problems.push({ code: "config-bad-value", message, hint: reading.hint, key: key.key, source });
        return;
      }
      warnings.push(...reading.leftOut.map((reason) => `${key.key}: ${reason}, so that entry is left out (${describeSource(source)})`));
      settings.set(key.key, [...settingsOf(key), { value: reading.value, raw, source }]);
    },
    addUnknownKey(name, source) {
      const message = `there is no configuration key ${JSON.stringify(name.slice(0, 80))} (${describeSource(source)})`;
      problems.push({ code: "config-unknown-key", message, hint: unknownKeyHint(name), key: name, source });
    },
    addWithoutEffect(name, instead, source) {
      warnings.push(`${name} has no effect in Holdfast: ${instead} (${describeSource(source)})`);
    },
    addElsewhere: (...path) => void elsewhere.push(path),
    addProblem: (problem) => problems.push(problem),
    addWarning: (warning) => warnings.push(warning),
  };
}

/** The error for one or more problems: it speaks of the first and carries all of them in `facts.problems`. */
export function throwProblems(problems: readonly Problem[]): void {
  const [first, ...others] = problems;
  if (first === undefined) return;
  const more = others.length === 0 ? "" : `, and ${others.length} more ${others.length === 1 ? "problem" : "problems"}`;
  throw new HoldfastError(first.code, first.message + more, {
    hint: first.hint,
    facts: { problems: problems.map(({ source, ...problem }) => ({ ...problem, ...source })) },
  });
}
