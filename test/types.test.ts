import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildTypes } from "../scripts/build-types.ts";

const ROOT = dirname(import.meta.dirname);
const consumer = mkdtempSync(join(tmpdir(), "holdfast-types-"));
afterAll(() => rmSync(consumer, { recursive: true, force: true }));

/** A project that has installed the library and the types of node, and nothing that Holdfast itself is built with. */
beforeAll(async () => {
  const library = join(consumer, "node_modules/holdfast");
  mkdirSync(join(consumer, "node_modules/@types"), { recursive: true });
  symlinkSync(join(ROOT, "node_modules/@types/node"), join(consumer, "node_modules/@types/node"));
  await buildTypes({ root: ROOT, outDir: join(library, "dist/types") });
  writeFileSync(
    join(library, "package.json"),
    JSON.stringify({ name: "holdfast", type: "module", exports: { types: "./dist/types/index.d.ts" } }),
  );
  writeFileSync(join(consumer, "package.json"), JSON.stringify({ type: "module" }));
});

function compile(source: string, moduleOptions: Record<string, string>): string {
  const compilerOptions = {
    target: "es2024",
    lib: ["es2024", "esnext.disposable"],
    types: ["node"],
    strict: true,
    noEmit: true,
    skipLibCheck: false,
  };
  writeFileSync(join(consumer, "index.ts"), source);
  writeFileSync(
    join(consumer, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { ...compilerOptions, ...moduleOptions }, files: ["index.ts"] }),
  );
  return spawnSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", consumer], { encoding: "utf8" }).stdout;
}

describe.each([
  ["nodenext", { module: "nodenext" }],
  ["bundler", { module: "esnext", moduleResolution: "bundler" }],
])("the types of the library in a project of someone else (%s)", (_, moduleOptions) => {
  test("stand on their own", () => {
    const source = 'import { HoldfastError, openHoldfast } from "holdfast";\nexport const used = [openHoldfast, HoldfastError] as const;\n';
    expect(compile(source, moduleOptions)).toBe("");
  });

  test("catch mistakes", () => {
    const source = 'import { HoldfastError } from "holdfast";\nexport const bad: number = new HoldfastError("usage", "x").hint;\n';
    expect(compile(source, moduleOptions)).toContain("index.ts(2,14): error TS2322");
  });
});
