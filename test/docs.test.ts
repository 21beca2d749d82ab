import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, normalize } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { installProgram } from "./helpers/cli.ts";
import { callsIn, fencedCommands, refusal, refusedCommands, unknownWord } from "./helpers/command-lines.ts";
import { brokenLinks, missingPaths, unknownCodes, unknownKeys } from "./helpers/document-checks.ts";
import { ENGINE_LIMIT_MS, testEngine } from "./helpers/engine.ts";
import { BASE_IMAGE } from "./helpers/engine-image.ts";
import { parsePage, ROOT, readPages } from "./helpers/markdown.ts";
import { describeIf } from "./helpers/requirements.ts";
import { matches, runSteps, stepsOf } from "./helpers/transcript.ts";

const pages = readPages();
const pageOf = (path: string) => pages.find((page) => page.path === path) ?? expect.fail(`${path} is missing`);

const scratch = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-docs-")));
const snippets = join(ROOT, ".cache/docs-snippets");
afterAll(() => {
  rmSync(scratch, { recursive: true, force: true });
  rmSync(snippets, { recursive: true, force: true });
});

describe("the documents", () => {
  test("link only to what is there", () => expect(pages.flatMap((page) => brokenLinks(page, pages))).toEqual([]));
  test("name only files that are there", () => expect(pages.flatMap(missingPaths)).toEqual([]));
  test("name only configuration keys and variables that exist", () => expect(pages.flatMap(unknownKeys)).toEqual([]));
  test("name only error codes that exist", () => expect(pages.flatMap(unknownCodes)).toEqual([]));
  test("can all be reached by a link", () => {
    const linked = new Set(
      pages.flatMap(({ path, links }) => links.map((link) => normalize(join(dirname(path), link.split("#")[0] ?? "")))),
    );
    expect(pages.map(({ path }) => path).filter((path) => path.startsWith("docs/") && !linked.has(path))).toEqual([]);
  });

  test("show only command lines that the program understands", async () => {
    expect((await Promise.all(pages.map(refusedCommands))).flat()).toEqual([]);
  });

  test("hold TypeScript that compiles against the library", () => {
    mkdirSync(snippets, { recursive: true });
    for (const { path, fences } of pages) {
      for (const [index, { text }] of fences.filter(({ language }) => language === "ts").entries()) {
        writeFileSync(join(snippets, `${path.replaceAll("/", "-")}-${index}.ts`), `${text}export {};\n`);
      }
    }
    const options = { paths: { holdfast: ["../../src/index.ts"] }, noUnusedLocals: false };
    writeFileSync(
      join(snippets, "tsconfig.json"),
      JSON.stringify({ extends: "../../tsconfig.json", compilerOptions: options, include: ["*.ts"] }),
    );
    expect(compile(snippets)).toBe("");
  });
});

describe("the reference of the library", () => {
  const { spans } = pageOf("docs/reference/library.md");
  const words = new Set(spans.flatMap((span) => span.match(/\w+/g) ?? []));
  const interfaces = ["src/app/open-holdfast.ts", "src/app/open-worker.ts", "src/app/board-results.ts", "src/sandbox/call.ts"].flatMap(
    (path) =>
      [...readFileSync(join(ROOT, path), "utf8").matchAll(/^export interface (\w+).*?^}/gms)].map(([text, name = ""]) => ({ name, text })),
  );

  test("has every name that the library exports", () => {
    const exported = readFileSync(join(ROOT, "src/index.ts"), "utf8").match(/(?<=\{[^}]*)\b(?!type\b)\w+(?=[^{]*\} from)/g) ?? [];
    expect(exported).toContain("openHoldfast");
    expect(exported.filter((name) => !words.has(name))).toEqual([]);
  });

  test.each(interfaces)("has every member of $name", ({ text }) => {
    const members = [...text.matchAll(/^ +(?:readonly )?(\w+)\??[(:]/gm)].map(([, member = ""]) => member);
    expect(members.length).toBeGreaterThan(0);
    expect(members.filter((member) => !words.has(member))).toEqual([]);
  });
});

describe("the README", () => {
  const all = stepsOf(pageOf("README.md"));
  const inContainers = all.findIndex(({ command }) => command.includes("terminal.backend docker"));
  const onBoard = all.findIndex(({ command }) => command.includes("profile create"));

  /** The steps that went otherwise than the page says. */
  const wrongSteps = async (steps: typeof all, variables: Readonly<Record<string, string>> = {}) => {
    const home = mkdtempSync(join(scratch, "you-"));
    mkdirSync(join(home, "project"), { recursive: true });
    const bin = join(home, "bin");
    await installProgram(bin);
    const env = { HOME: home, PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`, LC_ALL: "C.UTF-8", ...variables };
    const outputs = await runSteps(steps, { cwd: join(home, "project"), env });
    const shown = outputs.map((output) => output.replaceAll(home, "/home/you"));
    return steps.flatMap(({ command, expected }, index) => {
      const output = shown[index] ?? "(did not run)";
      return matches(output, expected) ? [] : [{ command, expected, output }];
    });
  };

  test("shows what really happens", async () => {
    const steps = all.slice(0, inContainers);
    expect(steps.length).toBeGreaterThan(10);
    expect(await wrongSteps(steps)).toEqual([]);
  }, 120_000);

  describeIf(["cc", "dockerd", "mmdebstrap"], "with containers", () => {
    test(
      "S14 S18 shows what really happens in a container, too",
      async () => {
        const { run, binary, env } = await testEngine();
        // The default image, which cannot be pulled without a network.
        await run(["tag", BASE_IMAGE, "debian:bookworm"]);
        const steps = all.slice(inContainers, onBoard);
        expect(steps.length).toBeGreaterThan(8);
        expect(await wrongSteps(steps, { ...env, HOLDFAST_DOCKER_BINARY: binary })).toEqual([]);
      },
      ENGINE_LIMIT_MS,
    );
  });

  test("K13 K27 K32 shows what really happens on a board, too", async () => {
    const steps = all.slice(onBoard);
    expect(steps.map(({ command }) => command).join("\n")).toContain("dispatch --watch");
    const cleaning = ["writer", "editor"].map((name) => ({ command: `holdfast profile delete ${name} --confirm ${name}`, expected: "…" }));
    expect(await wrongSteps([...steps, ...cleaning])).toEqual([]);
  }, 240_000);

  test("begins with the two commands that do everything", () => {
    const commands = pageOf("README.md").fences.filter(({ language }) => language === "sh");
    expect(commands.map(({ text }) => text).join("")).toContain("./holdfast exec -- 'echo hello && pwd'\n");
    expect(commands.map(({ text }) => text).join("")).toContain("./check\n");
  });
});

describe("the records", () => {
  const decisions = pages.filter(({ path }) => dirname(path) === "docs/decisions");

  test("of decisions have a date and say context, decision and consequences", () => {
    expect(decisions.length).toBeGreaterThan(0);
    for (const { path, headings } of decisions) {
      expect(basename(path)).toMatch(/^\d{4}-\d{2}-\d{2}-[a-z0-9-]+\.md$/);
      expect(headings.slice(1), path).toEqual(["Context", "Decision", "Consequences"]);
    }
  });

  test("of changes name the version of the package", () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
    expect(pageOf("CHANGELOG.md").headings.map((heading) => heading.split(" ")[0])).toContain(version);
  });
});

describe("the checks themselves", () => {
  const page = (text: string) => parsePage("docs/x.md", text);

  test("find broken links, anchors and paths", () => {
    expect(brokenLinks(page("[a](../README.md) [b](https://example.org) [c](#top)\n# Top"), pages)).toEqual([]);
    expect(brokenLinks(page("[a](../READMEE.md) [b](../README.md#nowhere) [c](#top)"), pages)).toHaveLength(3);
    expect(missingPaths(page("`src/index.ts`, `src/sandbox/drivers/NAME/driver.ts`, `./check` and `src/`"))).toEqual([]);
    expect(missingPaths(page("`src/indexx.ts` and `./chek`"))).toHaveLength(2);
  });

  test("find unknown keys, variables and codes", () => {
    expect(unknownKeys(page("`terminal.timeout` and TERMINAL_TIMEOUT, `terminal.docker_…`"))).toEqual([]);
    expect(unknownKeys(page("`terminal.timeot`, `kanban.max_spwan` and `TERMINAL_TIMEOT`"))).toHaveLength(3);
    expect(unknownCodes(page("`busy`, `sandbox-lost`, `install-id`"))).toEqual([]);
    expect(unknownCodes(page("`sandbox-losst`"))).toHaveLength(1);
  });

  test("find command lines that do not parse", async () => {
    const found = fencedCommands(page("```sh\nA=1 ./holdfast exec -- 'a | b' && holdfast doctor | cat\necho x\n```"));
    expect(found.flatMap(callsIn)).toEqual([["exec", "--", "a | b"], ["doctor"]]);
    expect(await refusal(["exec", "--", "a | b"])).toBeNull();
    expect(await refusal(["exec"])).toContain("missing required argument");
    expect(await refusal(["exec", "--nonsense", "--", "a"])).toContain("unknown option");
    expect(await refusal(["exce", "--", "a"])).not.toBeNull();
    expect(await unknownWord(["config", "set", "KEY"])).toBeNull();
    expect(await unknownWord(["config", "sett"])).toBe("there is no holdfast config sett");
    expect(await unknownWord(["exec", "--tusk"])).toBe("there is no holdfast exec --tusk");
  });

  test("compare output line by line, with … for what changes", () => {
    expect(matches("a 17 b\n", "a … b")).toBe(true);
    expect(matches("TASK      ID\nx  1\ny  2\n", "TASK  ID\n…\ny  …")).toBe(true);
    expect(matches("a\nb\n", "a")).toBe(false);
    expect(matches("a\n", "b")).toBe(false);
    expect(matches("", "")).toBe(true);
  });
});

function compile(directory: string): string {
  try {
    return execFileSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", directory], { encoding: "utf8" });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}
