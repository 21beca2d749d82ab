/** @module How `config set` writes a value: on one line, in a form that means the same to every reader of YAML. */
import type { Yaml } from "./yaml-file.ts";

export function renderYaml(yaml: Yaml, value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => JSON.stringify(item)).join(", ")}]`;
  if (typeof value === "string") return isPlain(yaml, value) ? value : JSON.stringify(value);
  if (typeof value !== "object" || value === null) return String(value);
  const entries = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${JSON.stringify(item)}`);
  return `{${entries.join(", ")}}`;
}

// Booleans to readers of older YAML.
const OLD_BOOLEANS = /^(?:y|n|yes|no|on|off)$/i;

function isPlain(yaml: Yaml, text: string): boolean {
  const looksPlain = /^[A-Za-z/~][\w./:@+~=-]*$/.test(text) && !text.endsWith(":") && !OLD_BOOLEANS.test(text);
  return looksPlain && yaml.parse(text) === text;
}
