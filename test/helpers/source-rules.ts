/** @module The house rules that can be read off the sources, as pure functions: each returns one sentence per violation. */
import { posix } from "node:path";
import { findImports, lineAt, maskText } from "../../scripts/source-text.ts";

/** Paths relative to src/, with their text. */
export type Sources = Readonly<Record<string, string>>;

export interface Layer {
  /** The layers it may import besides itself. */
  readonly from: readonly string[];
  /** Single files of other layers that it may import as well. */
  readonly files?: RegExp;
  /** Layers whose types alone it may import. */
  readonly typesFrom?: readonly string[];
}

export interface Home {
  readonly what: string;
  readonly pattern: RegExp;
  /** The only file in which the pattern may occur; null when none may. */
  readonly home: string | null;
  readonly instead: string;
}

const LONGEST_FILE = 500;

export function checkLayers(sources: Sources, layers: Readonly<Record<string, Layer>>): string[] {
  const used = new Set(Object.keys(sources).map(layerOf));
  const unknown = [...used]
    .filter((name) => !(name in layers))
    .map((name) => `src/${name} is not a layer: add it to the table or move its files`);
  const stale = Object.keys(layers)
    .filter((name) => !used.has(name))
    .map((name) => `the layer ${name} has no files: take it out of the table`);
  const imports = productFiles(sources).flatMap(([path, text]) => checkImports(path, text, layers));
  return [...unknown, ...stale, ...imports];
}

function checkImports(path: string, text: string, layers: Readonly<Record<string, Layer>>): string[] {
  const layer = layers[layerOf(path)];
  return findImports(text).flatMap(({ specifier, line, typeOnly }) => {
    if (!specifier.startsWith(".") || layer === undefined) return [];
    const target = posix.join(posix.dirname(path), specifier);
    const where = `src/${path}:${line} imports ${target}`;
    if (target.startsWith("..")) return [`${where}, which is outside src/`];
    const driver = driverOf(path);
    if (driver !== undefined && driverOf(target) !== undefined && driverOf(target) !== driver && driverOf(target) !== "shared") {
      return [`${where}: a driver never imports another one; put what both need into drivers/shared`];
    }
    const name = layerOf(target);
    const allowed =
      name === layerOf(path) || layer.from.includes(name) || (typeOnly && layer.typesFrom?.includes(name)) || layer.files?.test(target);
    return allowed ? [] : [`${where}: ${layerOf(path)} may import ${layer.from.join(", ") || "no other layer"}`];
  });
}

/** What may occur in one file only. */
export function checkHomes(sources: Sources, homes: readonly Home[]): string[] {
  return productFiles(sources).flatMap(([path, text]) => {
    const code = maskText(text);
    return homes.flatMap(({ what, pattern, home, instead }) => {
      const found = path === home ? null : pattern.exec(code);
      return found ? [`src/${path}:${lineAt(code, found.index)} uses ${what}: ${instead}`] : [];
    });
  });
}

export function checkSizes(sources: Sources): string[] {
  return Object.entries(sources).flatMap(([path, text]) => {
    const lines = text.trimEnd().split("\n").length;
    return lines > LONGEST_FILE ? [`src/${path} has ${lines} lines; more than ${LONGEST_FILE} is more than one topic`] : [];
  });
}

export function checkOpenings(sources: Sources): string[] {
  return productFiles(sources)
    .filter(([path, text]) => !path.endsWith(".gen.ts") && !/^(?:#!.*\n)?\/\*\*\s+(?:\* )?@module [^\s*]/.test(text))
    .map(([path]) => `src/${path} does not open with a /** @module … */ sentence`);
}

function productFiles(sources: Sources): [string, string][] {
  return Object.entries(sources).filter(([path]) => !path.endsWith(".test.ts"));
}

/** The top folder, or the file itself when it lies directly in src/. */
function layerOf(path: string): string {
  return path.split("/")[0] ?? path;
}

function driverOf(path: string): string | undefined {
  return /^sandbox\/drivers\/([^/]+)\//.exec(path)?.[1];
}
