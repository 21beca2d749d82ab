/** @module Where a configuration value comes from. */

export type Source =
  /** A flag of the command line, or an argument of the library. */
  | { readonly kind: "flag"; readonly name: string }
  /** What a task has for itself. */
  | { readonly kind: "task"; readonly task: string }
  | { readonly kind: "environment"; readonly variable: string }
  | { readonly kind: "dotenv"; readonly variable: string; readonly file: string; readonly line: number }
  | { readonly kind: "file"; readonly file: string; readonly line: number }
  | { readonly kind: "default" };

/** A value that some source gives to a key. */
export interface Setting {
  readonly value: unknown;
  /** As it was written there; null for a default. */
  readonly raw: string | null;
  readonly source: Source;
}

export function describeSource(source: Source): string {
  switch (source.kind) {
    case "flag":
      return `flag ${source.name}`;
    case "task":
      return `the settings of task ${source.task}`;
    case "environment":
      return `environment variable ${source.variable}`;
    case "dotenv":
      return `${source.variable} in ${source.file} line ${source.line}`;
    case "file":
      return `${source.file} line ${source.line}`;
    case "default":
      return "default";
  }
}
