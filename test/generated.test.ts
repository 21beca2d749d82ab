import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { currentText, GENERATORS } from "../scripts/gen.ts";
import { renderErrorReference } from "../scripts/gen-errors.ts";
import { findBackends, renderBackends, renderRegistry } from "../scripts/gen-registry.ts";

describe("generated files", () => {
  test.each(GENERATORS)("$path is fresh", async ({ path, render }) => {
    expect(await currentText(path)).toBe(await render());
  });
});

describe("the registry", () => {
  test("lists the folders that hold a driver, sorted, and nothing else", async () => {
    const drivers = mkdtempSync(join(tmpdir(), "holdfast-drivers-"));
    onTestFinished(() => rmSync(drivers, { recursive: true, force: true }));
    for (const path of ["ssh/driver.ts", "local/driver.ts", "docker/options.ts", "shared/driver.ts"]) {
      mkdirSync(join(drivers, path, ".."), { recursive: true });
      writeFileSync(join(drivers, path), "");
    }
    writeFileSync(join(drivers, "driver.ts"), "");
    expect(await findBackends(drivers)).toEqual(["local", "ssh"]);
  });

  test("loads drivers lazily, while the list of names loads none", () => {
    expect(renderBackends(["local", "ssh"])).toContain('export const BACKENDS = ["local", "ssh"] as const;');
    expect(renderBackends(["local", "ssh"])).not.toContain("import");
    expect(renderRegistry(["local", "with-dash"])).toContain('  local: { load: () => import("./drivers/local/driver.ts") },\n');
    expect(renderRegistry(["local", "with-dash"])).toContain('  "with-dash": { load: () => import("./drivers/with-dash/driver.ts") },\n');
  });
});

test("the error reference has a section per code, sorted, with its fix", () => {
  const page = renderErrorReference({
    "b-code": { meaning: "B happened.", fix: "Undo B.", retryable: true },
    "a-code": { meaning: "A happened.", fix: "Undo A.", retryable: false },
  });
  expect(page.match(/^## .*$/gm)).toEqual(["## `a-code`", "## `b-code`"]);
  expect(page).toContain("B happened.\n\n**What to do:** Undo B.\n\n**Retryable:** yes\n");
});
