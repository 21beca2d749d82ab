import { beforeAll, describe, expect, test } from "vitest";
import { programForReading } from "../../scripts/gen-cli-docs.ts";
import { hasFlag, lastValue, pathOf, readLine } from "./line.ts";

let program: Awaited<ReturnType<typeof programForReading>>;
beforeAll(async () => {
  program = await programForReading();
});

describe("the words of a line", () => {
  test.each<[line: string, path: string, operands: string]>([
    ["", "", ""],
    ["sandbox ls", "sandbox ls", ""],
    ["sandbox list", "sandbox ls", ""],
    ["-p x sandbox -c a=b rm --force build", "sandbox rm", "build"],
    ["-px sandbox --profile=y rm -f build", "sandbox rm", "build"],
    ["config set key -1", "config set", "key -1"],
    ["config set -- key --json", "config set", "key --json"],
    ["sandbx ls", "", "sandbx ls"],
    ["sandbox lst", "sandbox", "lst"],
    ["exec mkdir -p x", "exec", "mkdir -p x"],
    ["exec -t build -- mkdir -p x", "exec", "mkdir -p x"],
    ["exec -- -p x", "exec", "-p x"],
    ["-- exec ls", "exec", "ls"],
  ])("%s", (text, path, operands) => {
    const line = readLine(program, words(text));
    expect({ path: pathOf(line.command).join(" "), operands: line.operands.join(" ") }).toEqual({ path, operands });
  });

  test.each([
    ["exec --json -- x", true],
    ["exec --session --json -- x", false],
    ["exec -- x --json", false],
    ["exec x --json", false],
    ["exec --nonsense --json x", true],
    ["config get --json", true],
    ["config get -- --json", false],
  ])("--json is ours: %s → %s", (text, expected) => {
    expect(hasFlag(readLine(program, words(text)), "--json")).toBe(expected);
  });

  test("of a flag that is given twice the last value counts, also in groups of short ones", () => {
    expect(lastValue(readLine(program, words("-p a sandbox -pb ls --profile=c")), "--profile")).toBe("c");
    const grouped = readLine(program, words("sandbox ls -apx"));
    expect(hasFlag(grouped, "--all")).toBe(true);
    expect(lastValue(grouped, "--profile")).toBe("x");
  });

  test("a flag at the end waits for its value, and what nobody knows is kept apart", () => {
    expect(readLine(program, words("exec --task")).awaiting?.long).toBe("--task");
    expect(readLine(program, words("exec --task x")).awaiting).toBeNull();
    expect(readLine(program, words("sandbox ls --jsn -z")).unknownFlags).toEqual(["--jsn", "-z"]);
    expect(readLine(program, words("sandbox -h")).help).toBe(true);
  });
});

function words(text: string): string[] {
  return text.split(" ").filter(Boolean);
}
