/** @module Lets a bundle load what node itself brings when it is first used, and not at its start. */
import type { Plugin } from "esbuild";

const NAMESPACE = "lazy-builtin";

/**
 * An ordinary import of a builtin evaluates all of it at once, with everything that it could ever need: `node:fs` brings streams,
 * `node:util` worker threads. Together that is 10 ms of every start.
 */
export function lazyBuiltins(): Plugin {
  return {
    name: "lazy-builtins",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^node:/ }, ({ path, kind }) => (kind === "import-statement" ? { path, namespace: NAMESPACE } : undefined));
      onLoad({ filter: /^/, namespace: NAMESPACE }, ({ path }) => ({ contents: moduleText(path), loader: "js" }));
    },
  };
}

/** esbuild copies the members of a CommonJS module, but not of its prototype: there, each is looked up when it is used. */
function moduleText(path: string): string {
  if (path === "node:process") return "module.exports = process;";
  return `module.exports = Object.create(new Proxy({}, { get: (_, name) => process.getBuiltinModule(${JSON.stringify(path)})[name] }));`;
}
