/** @module Builds dist/: the program, the library and its types, with every dependency inlined. */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";
import { buildDaemon } from "./build-daemon.ts";
import { lazyBuiltins } from "./build-lazy-builtins.ts";
import { renderLicences } from "./build-licences.ts";
import { buildTypes } from "./build-types.ts";

const ROOT = dirname(import.meta.dirname);
const DIST = join(ROOT, "dist");

const LIBRARY = "src/index.ts";
const PROGRAM = "src/cli/main.ts";
// What the program loads for everything but `--version`. All of it is one file: thirty small ones take 10 ms longer to load.
const PROGRAM_BODY = "src/cli/run-program.ts";
/** What opens a board. */
const BOARD_ENGINE = "src/board/engine.ts";
/** What runs beside a worker: it starts for each run, so it has as little to load as possible. */
const SUPERVISOR = "src/app/run-supervisor.ts";
/** What only the verbs of the board need, and the changes of profiles that the board must hear of. */
const BOARD_VERBS = ["src/cli/commands/kanban.ts", "src/app/profile-boards.ts"];
/** What the verb `mcp` serves with: the SDK alone is as large as all the rest. */
const MCP_SERVER = "src/mcp/serve.ts";
/** Of a worker in a sandbox. */
const SANDBOX_WORKER = "src/app/sandbox-worker.ts";
/** What it writes its statements with, and nothing else needs: it would be parsed at every start of what it got into. */
const ENGINE_ONLY = "node_modules/kysely/";
/** Loaded from where the user has installed them. */
const OPTIONAL_PEERS = ["pg"];

/** Packages that few commands need: parsing them at every start would take longer than reading one more file when they are needed. */
const LAZY_PACKAGES = {
  "tar-stream": 'import tar from "tar-stream"; export const { extract, pack } = tar;',
  yaml: 'export * from "yaml";',
};

// A program that was started before a build may load its parts just after it, so they outlive it for a while.
const KEEP_OLD_PARTS_MS = 60 * 60 * 1000;
// File times come from a clock that lags a little: without this margin, a file saved while building could look older than the build.
const CLOCK_LAG_MS = 20;

const OLDEST_NODE = 24;
const NODE_TOO_OLD = `Number(process.versions.node.split(".")[0]) < ${OLDEST_NODE}`;
const LIBRARY_HEAD = `if (${NODE_TOO_OLD}) throw new Error("holdfast needs Node ${OLDEST_NODE} or newer; this is " + process.version);`;

/**
 * The compile cache is turned on before the body is loaded. Not with NODE_COMPILE_CACHE, which every command in a local sandbox
 * would inherit. Where the directory cannot be written, there is no cache and no error.
 */
const PROGRAM_HEAD = `#!/usr/bin/env node
import module from "node:module";
if (${NODE_TOO_OLD}) {
  console.error("error: holdfast needs Node ${OLDEST_NODE} or newer; this is " + process.version + "\\nhint: in a clone, ./holdfast brings its own");
  process.exit(125);
}
module.enableCompileCache(import.meta.dirname + "/.cache");`;

/** For CommonJS packages, which may require what node itself brings, and nothing else. */
const REQUIRE = "const require = (name) => process.getBuiltinModule(name);";

interface BundleOptions {
  readonly head?: string;
  /** What is not inlined but loaded: the path of a source file or the name of a package, and where it is found. */
  readonly parts?: ReadonlyMap<string, string>;
  /** Lines stay lines: node prints the whole line in which an error was thrown that nobody caught. */
  readonly readable?: boolean;
}

interface Part extends Bundle {
  /** As it is imported. */
  readonly name: string;
  /** In dist/body/. */
  readonly file: string;
}

interface Bundle {
  readonly code: Uint8Array;
  readonly metafile: Metafile;
}

// scripts/setup.sh builds in a step of its own, so that a failed build is not taken for a failed installation.
if (process.env.HOLDFAST_INSTALL_ONLY === undefined) await main();

async function main(): Promise<void> {
  try {
    await buildDist();
  } catch (error) {
    // esbuild has printed its own errors, each with its place in the source.
    if (!(error instanceof Error && "errors" in error)) console.error(error);
    process.exitCode = 1;
  }
}

/**
 * A launcher or an importer never sees half a build: the parts carry a digest of their content in their names, and the files with fixed
 * names are replaced by renaming, after everything they need.
 */
async function buildDist(): Promise<void> {
  const startedAt = new Date(Date.now() - CLOCK_LAG_MS);
  const packages = await Promise.all(
    Object.entries(LAZY_PACKAGES).map(async ([name, contents]) => part(name, await bundle({ contents, resolveDir: ROOT }))),
  );
  const lazily = async (path: string, parts: readonly Part[]) => part(path, await bundle(path, { parts: located("./", parts) }));
  const engine = await lazily(BOARD_ENGINE, packages);
  const shared = [engine, await lazily(SANDBOX_WORKER, [engine, ...packages]), ...packages];
  const verbs = await Promise.all([...BOARD_VERBS, MCP_SERVER].map((path) => lazily(path, shared)));
  const [library, body, supervisor] = await Promise.all([
    bundle(LIBRARY, { head: LIBRARY_HEAD, readable: true, parts: located("./body/", shared) }),
    lazily(PROGRAM_BODY, [...verbs, ...shared]),
    lazily(SUPERVISOR, shared),
    buildTypes({ root: ROOT, outDir: join(DIST, "types") }),
  ]);
  const program = await bundle(PROGRAM, { head: PROGRAM_HEAD, parts: located("./body/", [body, supervisor]) });

  const parts = [body, supervisor, ...verbs, ...shared];
  await writeAtomically(
    "LICENSES.txt",
    await renderLicences(
      ROOT,
      [library, program, ...parts].map(({ metafile }) => metafile),
    ),
  );
  const builtWith = await buildDaemon({ root: ROOT, outDir: DIST });
  for (const { file, code } of parts) await writeAtomically(`body/${file}`, code);
  await writeAtomically("index.js", library.code);
  await writeAtomically("holdfast.js", program.code, 0o755);
  await writeAtomically(".built", `${builtWith}\n`);
  // The launcher compares this time with those of the sources; one that changed during the build must count as newer.
  await utimes(join(DIST, ".built"), startedAt, startedAt);
  await rm(join(DIST, ".cache"), { recursive: true, force: true });
  await removeOldParts(new Set(parts.map(({ file }) => file)));
}

/** A part carries a digest of its content in its name. */
function part(name: string, { code, metafile }: Bundle): Part {
  const digest = createHash("sha256").update(code).digest("hex").slice(0, 16);
  return { name, file: `${basename(name, ".ts")}-${digest}.js`, code, metafile };
}

/** Where a bundle finds them. */
function located(directory: string, parts: readonly Part[]): Map<string, string> {
  return new Map(parts.map(({ name, file }) => [name, directory + file]));
}

async function bundle(
  source: string | { contents: string; resolveDir: string },
  { head, parts = new Map(), readable = false }: BundleOptions = {},
): Promise<Bundle> {
  const entryPoint = typeof source === "string" ? source : source.contents;
  const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { version: string };
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    ...(typeof source === "string" ? { entryPoints: [source] } : { stdin: source }),
    outfile: "bundle.js",
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node24",
    minifySyntax: true,
    minifyWhitespace: !readable,
    banner: { js: [head, REQUIRE].filter(Boolean).join("\n") },
    define: { HOLDFAST_VERSION: JSON.stringify(version) },
    // Its build for node is CommonJS, which cannot be tree-shaken and takes 3 ms longer to load.
    external: OPTIONAL_PEERS,
    alias: { yaml: join(ROOT, "node_modules/yaml/browser/index.js") },
    plugins: [leaveOut(parts), ...(readable ? [] : [lazyBuiltins()])],
    metafile: true,
    write: false,
    logLevel: "warning",
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`esbuild made nothing of ${entryPoint}`);
  const required = Object.values(metafile.outputs).flatMap(({ imports }) => imports.filter(({ kind }) => kind === "require-call"));
  const foreign = required.map(({ path }) => path).filter((path) => !isBuiltin(path));
  if (foreign.length > 0) throw new Error(`${entryPoint} requires ${foreign.join(", ")} at run time, which is not in the bundle`);
  const holdsEngine = Object.values(metafile.outputs).some(({ inputs }) =>
    Object.entries(inputs).some(([path, { bytesInOutput }]) => path.includes(ENGINE_ONLY) && bytesInOutput > 0),
  );
  if (holdsEngine !== (source === BOARD_ENGINE))
    throw new Error(`${entryPoint} ${holdsEngine ? "holds" : "lacks"} ${ENGINE_ONLY}, whose only place is ${BOARD_ENGINE}`);
  const body = parts.get(PROGRAM_BODY);
  if (body !== undefined && !output.text.includes(body))
    throw new Error(`${entryPoint} no longer imports ${PROGRAM_BODY} lazily: correct scripts/build.ts`);
  return { code: output.contents, metafile };
}

/** Keeps parts out of a bundle and lets them be loaded from their own files instead. */
function leaveOut(parts: ReadonlyMap<string, string>): Plugin {
  return {
    name: "leave-out",
    setup({ onResolve }) {
      onResolve({ filter: /^/ }, ({ path: specifier, resolveDir, kind }) => {
        const name = specifier.startsWith(".") ? relative(ROOT, join(resolveDir, specifier)) : specifier;
        const path = kind === "dynamic-import" ? parts.get(name) : undefined;
        return path === undefined ? undefined : { path, external: true };
      });
    },
  };
}

async function writeAtomically(path: string, contents: string | Uint8Array, mode = 0o644): Promise<void> {
  const target = join(DIST, path);
  const temporary = `${target}.${process.pid}.tmp`;
  await mkdir(dirname(target), { recursive: true });
  await writeFile(temporary, contents, { mode });
  await rename(temporary, target);
}

async function removeOldParts(current: ReadonlySet<string>): Promise<void> {
  const before = Date.now() - KEEP_OLD_PARTS_MS;
  for (const name of await readdir(join(DIST, "body"))) {
    const path = join(DIST, "body", name);
    if (!current.has(name) && (await stat(path)).mtimeMs < before) await rm(path);
  }
}
