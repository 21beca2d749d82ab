/** @module The program as one file: from the sources, as a test wants it, and it starts as quickly as an installed one. */
import { join } from "node:path";
import { build } from "esbuild";

/** Its path. */
export async function bundleProgram(directory: string): Promise<string> {
  await build({
    entryPoints: [join(import.meta.dirname, "../../src/cli/main.ts")],
    outdir: join(directory, "program"),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node26",
    // Packages of CommonJS ask for what node brings.
    banner: { js: 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);' },
    external: ["pg-native"],
    logLevel: "error",
  });
  return join(directory, "program", "main.mjs");
}
