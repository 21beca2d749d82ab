import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { findImports, maskText } from "../scripts/source-text.ts";
import { checkHomes, checkLayers, checkOpenings, checkSizes, type Home, type Layer, type Sources } from "./helpers/source-rules.ts";

const LAYERS: Record<string, Layer> = {
  base: { from: [] },
  sandbox: { from: ["base"] },
  lifecycle: { from: ["base", "sandbox"] },
  board: { from: ["base"] },
  profiles: { from: ["base"] },
  model: { from: ["base"] },
  dispatcher: { from: ["base", "sandbox", "lifecycle", "board", "profiles"] },
  config: {
    from: ["base"],
    files: /^(sandbox|lifecycle|profiles|dispatcher|model)\/(.*\/)?options\.ts$|^sandbox\/(backends(\.gen)?|driver-options\.gen)\.ts$/,
  },
  app: { from: ["base", "sandbox", "lifecycle", "board", "profiles", "model", "dispatcher", "config"] },
  mcp: { from: ["base", "app"] },
  cli: {
    from: ["base", "config", "app"],
    // A surface that is served is started by a verb, which needs nothing else of it.
    files: /^dispatcher\/describe-result\.ts$|^mcp\/serve\.ts$/,
    typesFrom: ["sandbox", "lifecycle", "profiles", "board", "dispatcher"],
  },
  "index.ts": { from: ["app"], files: /^base\/errors\.ts$/, typesFrom: ["base", "sandbox", "lifecycle", "profiles", "config"] },
};

const HOMES: Home[] = [
  {
    what: "process.env",
    pattern: /\bprocess\s*\??\.\s*env\b/,
    home: "config/environment.ts",
    instead: "take the value as an option",
  },
  { what: "process.exit", pattern: /\bprocess\s*\??\.\s*exit\b/, home: "cli/main.ts", instead: "throw a HoldfastError" },
  {
    what: "the terminal",
    pattern: /\bconsole\s*\??\.|\bprocess\s*\??\.\s*std(?:out|err)\b/,
    home: "cli/render.ts",
    instead: "return data, or use the injected Logger",
  },
  {
    what: "the system's clock",
    pattern: /\bDate\s*\.\s*now\b|\bnew\s+Date\b(?!\s*\(\s*[^)\s])|\bperformance\s*\.\s*now\b|\bprocess\s*\.\s*(?:hrtime|uptime)\b/,
    home: "base/clock.ts",
    instead: "take a Clock",
  },
  {
    what: "the system's way to start a program",
    pattern: /\bimport\s*\{[^}]*\bspawn\b/,
    home: "base/child.ts",
    instead: "use spawnChild, whose errors always have a listener",
  },
  {
    what: "a socket of its own",
    pattern: /\b(?:createConnection|net\s*\.\s*connect)\b/,
    home: "sandbox/daemon/link.ts",
    instead: "use openSocket, whose errors always have a listener",
  },
  {
    what: "parts of process by another name",
    pattern: /\}\s*=\s*(?:globalThis\s*\.\s*)?process\b/,
    home: null,
    instead: "write process.x, so that this test sees it",
  },
];

const SRC = join(dirname(import.meta.dirname), "src");
const sources: Sources = Object.fromEntries(globSync("**/*.ts", { cwd: SRC }).map((path) => [path, readFileSync(join(SRC, path), "utf8")]));

describe("the sources", () => {
  test("import only in the direction of the layers", () => expect(checkLayers(sources, LAYERS)).toEqual([]));
  test("use what has one home only there", () => expect(checkHomes(sources, HOMES)).toEqual([]));
  test("never import process, which would hide what is used of it", () => {
    const found = Object.entries(sources).filter(([, text]) =>
      findImports(text).some(({ specifier }) => /^(node:)?process$/.test(specifier)),
    );
    expect(found.map(([path]) => path)).toEqual([]);
  });
  test("have no file of more than 500 lines", () => expect(checkSizes(sources)).toEqual([]));
  test("open with a sentence about the file", () => expect(checkOpenings(sources)).toEqual([]));
});

describe("the check of layers", () => {
  const everyLayer = Object.fromEntries(Object.keys(LAYERS).map((layer) => [layer.endsWith(".ts") ? layer : `${layer}/x.ts`, ""]));
  const check = (path: string, text: string) => checkLayers({ ...everyLayer, [path]: text }, LAYERS);

  test("accepts what the layers allow", () => {
    expect(check("lifecycle/x.ts", 'import { a } from "../sandbox/driver.ts";\nimport type { B } from "../base/b.ts";')).toEqual([]);
    expect(check("sandbox/drivers/local/driver.ts", 'import { a } from "../shared/a.ts";\nimport { b } from "../../driver.ts";')).toEqual(
      [],
    );
    expect(
      check("config/x.ts", 'import { a } from "../sandbox/drivers/ssh/options.ts";\nimport { b } from "../sandbox/backends.ts";'),
    ).toEqual([]);
    expect(check("cli/x.ts", 'import { a } from "../app/a.ts";\nimport type { B } from "../sandbox/b.ts";')).toEqual([]);
    expect(check("index.ts", 'export { a } from "./app/a.ts";\nexport type { B } from "./sandbox/b.ts";')).toEqual([]);
    expect(check("base/a.test.ts", 'import { a } from "../app/a.ts";')).toEqual([]);
  });

  test.each([
    ["backwards", "base/x.ts", 'import { a } from "../sandbox/a.ts";'],
    ["backwards for a type", "base/x.ts", 'import type { A } from "../sandbox/a.ts";'],
    ["backwards by re-export", "sandbox/x.ts", 'export { a } from "../lifecycle/a.ts";'],
    ["backwards over several lines", "sandbox/x.ts", 'import {\n  a,\n  b,\n} from "../lifecycle/a.ts";'],
    ["backwards lazily", "sandbox/x.ts", 'const a = await import("../app/a.ts");'],
    ["backwards for its effect", "sandbox/x.ts", 'import "../app/a.ts";'],
    ["sideways", "profiles/x.ts", 'import { a } from "../sandbox/a.ts";'],
    ["sideways from the board", "board/x.ts", 'import { a } from "../profiles/a.ts";'],
    ["config below app", "lifecycle/x.ts", 'import { a } from "../config/a.ts";'],
    ["a driver into config", "config/x.ts", 'import { a } from "../sandbox/drivers/local/driver.ts";'],
    ["a value below app into the library", "index.ts", 'import { a } from "./sandbox/a.ts";'],
    ["a value of a sandbox into the command line", "cli/x.ts", 'import { a } from "../sandbox/a.ts";'],
    ["a file outside src", "base/x.ts", 'import { a } from "../../scripts/a.ts";'],
    ["another driver", "sandbox/drivers/local/driver.ts", 'import { a } from "../memory/driver.ts";'],
    ["a driver into shared", "sandbox/drivers/shared/x.ts", 'import { a } from "../memory/driver.ts";'],
  ])("finds an import: %s", (_, path, text) => expect(check(path, text)).toHaveLength(1));

  test("finds folders that are not in the table and rows without a folder", () => {
    expect(check("helpers/x.ts", "")).toEqual([expect.stringContaining("src/helpers is not a layer")]);
    const { "lifecycle/x.ts": _, ...rest } = everyLayer;
    expect(checkLayers(rest, LAYERS)).toEqual([expect.stringContaining("lifecycle has no files")]);
  });
});

describe("the check of homes", () => {
  const check = (path: string, text: string) => checkHomes({ [path]: text }, HOMES);

  test.each([
    ["const a = process.env.A;", "config/environment.ts"],
    ["const a = { ...process\n  .env };", "config/environment.ts"],
    ["process.exit(1);", "cli/main.ts"],
    ["console.log(1);", "cli/render.ts"],
    ["process.stderr.write('x');", "cli/render.ts"],
    ["const t = Date.now();", "base/clock.ts"],
    ["const t = `${new Date().toISOString()}`;", "base/clock.ts"],
    ["const t = new Date;", "base/clock.ts"],
    ["const t = performance.now();", "base/clock.ts"],
    ['import { type ChildProcess, spawn } from "node:child_process";', "base/child.ts"],
    ['import {\n  createConnection,\n} from "node:net";', "sandbox/daemon/link.ts"],
  ])("finds %j outside its home", (text, home) => {
    expect(check("app/x.ts", text)).toHaveLength(1);
    expect(check(home, text)).toEqual([]);
  });

  test("finds a part of process by another name anywhere", () => {
    expect(check("config/environment.ts", "const { env } = process;")).toHaveLength(1);
  });

  test("is not fooled by comments, strings and regular expressions", () => {
    const harmless = [
      "// process.env is elsewhere",
      "/* process.exit(1) */",
      "const a = 'console.log(1)' + \"it's Date.now()\" + `process.env`;",
      "const b = /console\\.log[/\"']process.env/.test(a);",
      "const c = new Date(5); process.exitCode = 3; const d = 4 / 2; // process.env",
    ];
    expect(check("app/x.ts", harmless.join("\n"))).toEqual([]);
  });
});

describe("the other checks", () => {
  test("find a file of 501 lines", () => {
    expect(checkSizes({ "base/a.ts": "x\n".repeat(500) })).toEqual([]);
    expect(checkSizes({ "base/a.ts": "x\n".repeat(501) })).toHaveLength(1);
  });

  test("find a file without its opening sentence", () => {
    expect(
      checkOpenings({
        "base/a.ts": "/** @module A. */\n",
        "base/b.ts": "/**\n * @module B.\n */\n",
        "base/a.gen.ts": "",
        "base/a.test.ts": "",
      }),
    ).toEqual([]);
    expect(checkOpenings({ "base/a.ts": "import a from 'a';\n/** @module A. */", "base/b.ts": "/** @module */" })).toHaveLength(2);
  });

  test("keep the place of every character", () => {
    const text = "a = `x ${b + `y ${c}` + { d: '}' }.d} z`; // end\ne = f / g / h;";
    expect(maskText(text)).toBe("a = `  ${b + `  ${c}` + { d: ' ' }.d}  `;       \ne = f / g / h;");
  });
});
