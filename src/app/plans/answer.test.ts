import { describe, expect, test } from "vitest";
import { readDecomposition, readText } from "./answer.ts";

const part = (title: string, more: object = {}) => ({ title, body: "b", assignee: null, parents: [], ...more });
const fanout = (...tasks: object[]) => JSON.stringify({ fanout: true, rationale: "because", tasks });

describe("K35 the answer of a model", () => {
  test("is taken as it is, with or without a code fence or words around it", () => {
    const answer = fanout(part("a"), part("b", { assignee: "ada", parents: [0, 0] }));
    const read = readDecomposition(answer);
    expect(read).toEqual({
      fanout: true,
      rationale: "because",
      tasks: [
        { title: "a", body: "b", assignee: null, parents: [] },
        { title: "b", body: "b", assignee: "ada", parents: [0] },
      ],
    });
    expect(readDecomposition(`\`\`\`json\n${answer}\n\`\`\``)).toEqual(read);
    expect(readDecomposition(`Here it is:\n\`\`\`\n${answer}\n\`\`\`\nDone.`)).toEqual(read);
    expect(readDecomposition('{"fanout":false,"title":"t","body":"b"}')).toEqual({ fanout: false, title: "t", body: "b" });
  });

  test("loses what a title must not hold, and everything that was not asked for", () => {
    const hostile = part(`\u001b[2Jevil\ntitle ${"x".repeat(500)}`, {
      board: "other",
      workspace: "dir:/etc",
      id: "t_00000000",
      body: "a\0b",
    });
    const read = readDecomposition(fanout(hostile));
    expect(read).toEqual({
      fanout: true,
      rationale: "because",
      tasks: [{ title: expect.stringMatching(/^\[2Jevil title x+$/), body: "ab", assignee: null, parents: [] }],
    });
    expect(read.fanout && read.tasks[0]?.title).toHaveLength(200);
    expect(readText('{"title":"a\\u0000b","body":"c"}')).toEqual({ title: "a b", body: "c" });
  });

  test.for([
    ["no JSON", "I would rather not"],
    ["half of it", fanout(part("a")).slice(0, -3)],
    ["a list", "[]"],
    ["nothing", "null"],
    ["no tasks", fanout()],
    ["too many tasks", fanout(...Array.from({ length: 21 }, (_, index) => part(String(index))))],
    ["an empty title", fanout(part(" \n "))],
    ["a title that is none", fanout(part("a", { title: 7 }))],
    ["an index beyond the list", fanout(part("a", { parents: [1] }))],
    ["an index before it", fanout(part("a", { parents: [-1] }))],
    ["half an index", fanout(part("a", { parents: [0.5] }))],
    ["no title", '{"fanout":false,"body":"b"}'],
  ])("that is %s is refused", ([, answer]) => {
    expect(() => readDecomposition(answer as string)).toThrow(expect.objectContaining({ code: "model-failed" }));
  });
});
