/** @module A reporter of vitest that writes what happens to the file which CHECK_EVENTS names, and prints a line for each file if CHECK_SHOW is set. */
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Reporter, TestModule } from "vitest/node";
import { type RunEvent, resultOf, type TestFile, type TestOutcome, writeEvent } from "./events.ts";
import { failureText, fileLine } from "./report.ts";

interface Told {
  readonly message: string;
  readonly name?: string;
  readonly stack?: string;
  readonly diff?: string;
  readonly cause?: Told;
}

/** vitest wants a default, and calls it with `new`. */
export default function createReporter(): Reporter {
  const events = process.env.CHECK_EVENTS ?? "";
  const show = process.env.CHECK_SHOW !== undefined;
  const begins = new Map<TestModule, number>();
  let root = process.cwd();
  const fileOf = ({ moduleId, project }: Pick<TestModule, "moduleId" | "project">): TestFile => {
    return { path: relative(root, moduleId), project: project.name };
  };
  return {
    onInit({ config }) {
      root = config.root;
    },
    onTestRunStart(specifications) {
      for (const each of specifications) writeEvent(events, { event: "queued", file: fileOf(each) });
    },
    onTestModuleStart(module) {
      begins.set(module, performance.now());
      writeEvent(events, { event: "begun", file: fileOf(module) });
    },
    onTestModuleEnd(module) {
      const now = performance.now();
      const event: RunEvent = {
        event: "ended",
        file: fileOf(module),
        milliseconds: Math.round(now - (begins.get(module) ?? now)),
        tests: outcomesOf(module),
        errors: [module, ...module.children.allSuites()].flatMap((each) => each.errors().map(textOf)),
      };
      writeEvent(events, event);
      if (show)
        for (const result of resultOf([event]).files) console.log([fileLine(result), failureText(result)].filter(Boolean).join("\n"));
    },
    // What a test prints helps to understand its failure.
    onUserConsoleLog({ content }) {
      if (show) process.stdout.write(content);
    },
    onTestRunEnd(_, unhandled) {
      for (const error of unhandled) {
        // A process that died says so in words only.
        const text = textOf(error);
        const path = error.VITEST_TEST_PATH ?? / while running test files? (\S+)$/m.exec(text)?.[1];
        writeEvent(events, { event: "unhandled", path: typeof path === "string" ? relative(root, path) : null, error: text });
      }
    },
  };
}

function outcomesOf(module: TestModule): TestOutcome[] {
  return [...module.children.allTests()].map((test) => {
    const { state, errors = [] } = test.result();
    const name = test.fullName.replaceAll(" > ", " ");
    if (state === "failed") return { name, state, errors: errors.map(textOf) };
    return { name, state: state === "passed" ? "passed" : "skipped" };
  });
}

function textOf({ stack, message, name, diff, cause }: Told): string {
  const text = stack?.includes(message) ? stack : [`${name ?? "Error"}: ${message}`, stack].filter(Boolean).join("\n");
  return stripVTControlCharacters([text, diff, cause && `cause: ${textOf(cause)}`].filter(Boolean).join("\n\n"));
}
